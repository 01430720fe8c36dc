// Moves a replay to another ply without loading the page anew. Without this the slider's button and the links do the same.
"use strict";

(() => {
  const slider = document.querySelector("[data-slider]");
  if (!slider) return; // the match could not be played again
  const board = document.querySelector("[data-replay]");
  const range = slider.elements.ply;
  const announced = document.querySelector("[data-announced]");
  const unanswered = document.querySelector("[data-unanswered]");
  let wanted = 0, shown = range.defaultValue;

  slider.querySelector("button").hidden = true;

  const addressOf = (ply) => {
    const address = new URL(location.href);
    address.searchParams.set("round", slider.elements.round.value);
    address.searchParams.set("ply", ply);
    return address;
  };

  const show = async (ply) => {
    const turn = ++wanted;
    const address = addressOf(ply);
    let answer, text;
    try {
      answer = await fetch(address, { headers: { Accept: "text/html" } });
      text = await answer.text();
    } catch {
      if (turn !== wanted) return;
      range.value = shown;
      unanswered.hidden = false;
      return;
    }
    if (turn !== wanted) return; // a later move has overtaken this one
    unanswered.hidden = true;
    const fresh = new DOMParser().parseFromString(text, "text/html").querySelector("[data-replay]");
    if (!answer.ok || !fresh) {
      location.assign(address);
      return;
    }
    const focused = document.activeElement?.id;
    const isOpen = board.querySelector("details").open;
    board.innerHTML = fresh.innerHTML;
    board.querySelector("details").open = isOpen;
    // Screen readers tell what changes in a place that stays.
    announced.textContent = board.querySelector(".told").textContent.replace(/\s+/g, " ").trim();
    range.value = shown = ply;
    history.replaceState(null, "", address);
    dress();
    if (focused && document.activeElement?.id !== focused) (document.getElementById(focused) ?? range).focus();
  };

  const dress = () => {
    const copy = board.querySelector("[data-copy]");
    if (!navigator.clipboard) return;
    copy.hidden = false;
    copy.addEventListener("click", async () => {
      await navigator.clipboard.writeText(board.querySelector("[data-share]").href);
      copy.textContent = copy.dataset.copiedWord;
    });
  };

  range.addEventListener("input", () => show(range.value));
  board.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-ply]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    show(link.dataset.ply);
  });
  dress();
})();
