// Keeps a page live: an event stream brings fragments of HTML, each becomes the content of its [data-live] element.
"use strict";

(() => {
  const root = document.querySelector("[data-live-source]");
  if (!root) return;
  const pulse = document.querySelector("[data-pulse]");
  const shown = new Map();
  const RETRY_MILLISECONDS = 2000;
  let source, waiting;

  const say = (state, text) => {
    pulse.hidden = false;
    pulse.dataset.state = state;
    // Screen readers tell it whenever it is written, though it be the same.
    if (pulse.textContent !== text) pulse.textContent = text;
  };

  const copyAttributes = (from, to) => {
    // What a reader has opened stays open.
    const kept = to.nodeName === "DETAILS" ? "open" : "";
    for (const { name } of [...to.attributes]) if (name !== kept && !from.hasAttribute(name)) to.removeAttribute(name);
    for (const { name, value } of from.attributes) if (to.getAttribute(name) !== value) to.setAttribute(name, value);
  };

  // Makes the children of one node those of another, and leaves alone what is the same already: whoever has the focus or
  // has marked some text keeps it. Children with a data-key are the same where their keys are, wherever they stand.
  const become = (place, fresh) => {
    const keyed = new Map([...place.children].filter((child) => child.dataset.key).map((child) => [child.dataset.key, child]));
    let at = place.firstChild;
    for (const wanted of [...fresh.childNodes]) {
      // The page has more blanks between its elements than what comes live: they must not shift what belongs together.
      if (wanted.nodeType !== Node.TEXT_NODE) while (at?.nodeType === Node.TEXT_NODE) at = drop(at);
      const key = wanted.dataset?.key;
      if (key && keyed.get(key) !== at) {
        // Those that stand in between have gone or come later: the one with the key stays where it is if it can.
        if (keyed.has(key)) while (at && at !== keyed.get(key)) at = drop(at);
        else {
          place.insertBefore(wanted, at);
          continue;
        }
      }
      if (!at || at.nodeName !== wanted.nodeName || at.dataset?.key !== key) {
        place.insertBefore(wanted, at);
        continue;
      }
      if (at.nodeType === Node.ELEMENT_NODE) {
        copyAttributes(wanted, at);
        become(at, wanted);
      } else if (at.data !== wanted.data) at.data = wanted.data;
      at = at.nextSibling;
    }
    while (at) at = drop(at);
  };

  const drop = (node) => {
    const next = node.nextSibling;
    node.remove();
    return next;
  };

  const take = (message) => {
    say("live", pulse.dataset.liveWord);
    for (const [name, html] of Object.entries(JSON.parse(message.data))) {
      if (shown.get(name) === html) continue;
      shown.set(name, html);
      const place = document.querySelector(`[data-live="${CSS.escape(name)}"]`);
      if (!place) continue;
      const fresh = document.createElement("template");
      fresh.innerHTML = html;
      become(place, fresh.content);
    }
  };

  const listen = () => {
    source = new EventSource(root.dataset.liveSource);
    source.addEventListener("fragments", take);
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
    source.addEventListener("error", () => {
      say("away", pulse.dataset.reconnectingWord);
      if (source.readyState === EventSource.CLOSED) retry();
    });
  };

  // A browser gives up an event stream once anything else is answered: by a proxy while the service restarts, say, or by
  // the service where a session is over. Then the page itself is asked for, which tells whether to wait or to load it anew.
  const retry = () => {
    waiting = setTimeout(async () => {
      try {
        const answer = await fetch(location.href, { method: "HEAD", redirect: "manual", headers: { Accept: "text/html" } });
        if (answer.ok) listen();
        else if (answer.status >= 500 || answer.status === 429) retry();
        else location.reload();
      } catch {
        retry();
      }
    }, RETRY_MILLISECONDS);
  };

  listen();
  // A page that is put aside keeps no connection open: browsers allow few to one host.
  window.addEventListener("pagehide", () => {
    clearTimeout(waiting);
    source.close();
  });
  window.addEventListener("pageshow", (event) => {
    if (event.persisted) location.reload();
  });
})();
