// Keeps a page live: an event stream brings fragments of HTML, each replaces the content of its [data-live] element.
"use strict";

(() => {
  const root = document.querySelector("[data-live-source]");
  if (!root) return;
  const pulse = document.querySelector("[data-pulse]");
  const shown = new Map();
  const source = new EventSource(root.dataset.liveSource);

  const say = (state, text) => {
    pulse.hidden = false;
    pulse.dataset.state = state;
    pulse.textContent = text;
  };

  source.addEventListener("fragments", (message) => {
    say("live", pulse.dataset.liveWord);
    for (const [name, html] of Object.entries(JSON.parse(message.data))) {
      if (shown.get(name) === html) continue;
      shown.set(name, html);
      const place = document.querySelector(`[data-live="${CSS.escape(name)}"]`);
      if (place) place.innerHTML = html;
    }
  });
  source.addEventListener("unavailable", () => say("away", pulse.dataset.waitingWord));
  source.addEventListener("over", () => {
    source.close();
    pulse.hidden = true;
  });
  // What the page is about has gone: loaded anew it says so.
  source.addEventListener("gone", () => {
    source.close();
    location.reload();
  });
  source.addEventListener("error", () => say("away", pulse.dataset.reconnectingWord));
  // A page that is put aside keeps no connection open: browsers allow few to one host.
  window.addEventListener("pagehide", () => source.close());
  window.addEventListener("pageshow", (event) => {
    if (event.persisted) location.reload();
  });
})();
