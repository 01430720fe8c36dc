"""The whole service on one machine: data folder, embedded Redis, supervisor. `blockyard up` is its door."""
