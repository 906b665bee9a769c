// Plays the videos of a case on one clock. Times are seconds of the generated videos; the reference may start later.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("player-data").textContent);
  const byId = (id) => document.getElementById(id);
  const scrubber = byId("scrubber");
  if (!scrubber) return;
  const EDGE = 1e-3; // a time that is meant to be the start of a frame may be rounded down
  const DRIFT_FRAMES = 1; // how far a video may be from the clock before it is brought back
  const PATIENCE = 400; // milliseconds between two corrections of one video
  const videos = new Map();
  let isLaid = false; // whether what changed is laid over the videos
  let time = 0, isPlaying = false, rate = 1, picked = null, before = 0, isLoaded = false;

  for (const entry of data.videos) {
    const { times, frames } = entry;
    const starts = times.length > 1 ? times : Array.from({ length: frames + 1 }, (_, n) => (times[0] * n) / frames);
    videos.set(entry.key, { ...entry, starts, element: null, shown: null, wanted: null, corrected: 0,
      figure: byId(`player-${entry.key}`), box: document.querySelector(`[data-pick="${entry.key}"]`) });
  }
  const alive = () => [...videos.values()].filter((video) => video.element);

  const frameAt = (video, seconds) => {
    let low = 0, high = video.frames - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (video.starts[middle] <= seconds + EDGE) low = middle; else high = middle - 1;
    }
    return low;
  };
  const frameSeconds = (video, frame) => video.starts[frame + 1] - video.starts[frame];
  const middleOf = (video, frame) => (video.starts[frame] + video.starts[frame + 1]) / 2;
  const target = (video) => frameAt(video, time + video.offset);
  const isOver = (video) => time + video.offset >= video.starts[video.frames] - frameSeconds(video, video.frames - 1) / 2;

  // Seeks while a seek is under way pile up in decoders: only the last one counts.
  const seek = (video, seconds) => {
    video.wanted = seconds;
    if (!video.element.seeking) { video.element.currentTime = seconds; video.wanted = null; }
  };

  const show = (video, seconds) => {
    video.shown = frameAt(video, seconds);
    const first = frameAt(video, video.offset);
    video.figure.dataset.frame = video.shown;
    lay(video);
    video.figure.querySelector(".frame").textContent = `frame ${video.shown - first}`;
    const apart = alive().filter((other) => other.shown !== null && Math.abs(other.shown - target(other)) > DRIFT_FRAMES);
    byId("sync").textContent = apart.length ? "catching up" : "in step";
  };

  // The outlines are those of one frame: on any other they would be in the wrong places.
  const lay = (video) => {
    const picture = video.figure.querySelector(".overlay");
    if (picture) picture.hidden = !(isLaid && video.element && video.shown === data.returns[video.key]);
  };
  const toggleOverlay = (isWanted = !isLaid) => {
    const button = byId("overlay");
    if (!button) return;
    isLaid = isWanted;
    button.setAttribute("aria-pressed", String(isLaid));
    for (const video of alive()) lay(video);
  };

  const watch = (video) => {
    const element = video.element;
    if (!("requestVideoFrameCallback" in element)) {
      element.addEventListener("timeupdate", () => show(video, element.currentTime));
      return;
    }
    const next = (_, frame) => {
      if (video.element !== element) return;
      // Of two frames in a row one may go unreported; what stands still shows what its time says.
      show(video, element.paused && !element.seeking ? element.currentTime : frame.mediaTime);
      const apart = Math.abs(frame.mediaTime - time - video.offset) / frameSeconds(video, video.shown);
      const now = performance.now();
      if (isPlaying && !isOver(video) && !element.seeking && apart > DRIFT_FRAMES && now - video.corrected > PATIENCE) {
        video.corrected = now;
        seek(video, time + video.offset);
      }
      element.requestVideoFrameCallback(next);
    };
    element.requestVideoFrameCallback(next);
  };

  const open = (video) => {
    const element = document.createElement("video");
    element.muted = true;
    element.playsInline = true;
    element.preload = isLoaded ? "auto" : "none";
    element.tabIndex = -1;
    element.setAttribute("aria-label", `Video of ${video.figure.dataset.name}`);
    element.addEventListener("loadeddata", () => video.figure.classList.add("ready"));
    element.addEventListener("seeked", () => {
      if (video.wanted !== null) seek(video, video.wanted);
      else if (video.element === element && element.paused) show(video, element.currentTime);
    });
    element.addEventListener("error", () => { video.figure.classList.add("broken"); });
    element.addEventListener("click", () => toggle());
    element.src = video.source;
    video.element = element;
    video.figure.querySelector(".screen").append(element);
    watch(video);
    if (isLoaded) element.addEventListener("loadedmetadata", () => place(video), { once: true });
  };
  const shut = (video) => {
    video.element.pause();
    video.element.removeAttribute("src");
    video.element.load(); // gives its decoder back
    video.element.remove();
    video.element = null;
    video.shown = null;
    lay(video);
    video.figure.classList.remove("ready", "broken");
  };

  const load = () => {
    if (isLoaded) return;
    isLoaded = true;
    for (const video of alive()) {
      video.element.preload = "auto";
      video.element.addEventListener("loadedmetadata", () => place(video), { once: true });
      video.element.load();
    }
  };
  const place = (video) => { if (!isPlaying && video.element) seek(video, middleOf(video, target(video))); };

  const phaseAt = (seconds) => data.bands.find((band) => seconds + EDGE >= band.start && seconds + EDGE < band.end);
  const paint = () => {
    const phase = phaseAt(time), stepper = leader();
    const frame = stepper ? target(stepper) - frameAt(stepper, stepper.offset) : 0;
    scrubber.value = String(time);
    scrubber.setAttribute("aria-valuetext", `${time.toFixed(2)} seconds, frame ${frame}${phase ? `, ${phase.name}` : ""}`);
    byId("clock").textContent = `${time.toFixed(3)} s`;
    byId("clock-frame").textContent = `frame ${frame}`;
    byId("phase").textContent = phase ? phase.name : "";
    const part = data.seconds ? time / data.seconds : 0;
    for (const line of document.querySelectorAll("[data-cursor]")) {
      const [from, to] = line.dataset.cursor.split(" ").map(Number);
      const x = (from + (to - from) * part).toFixed(1);
      line.setAttribute("x1", x);
      line.setAttribute("x2", x);
    }
    for (const strip of document.querySelectorAll(".film[data-key]")) {
      const video = videos.get(strip.dataset.key);
      if (video) strip.style.setProperty("--at", `${Math.min(1, time / video.starts[video.frames]) * 100}%`);
    }
    for (const video of alive()) {
      if (!video.figure.classList.contains("ready")) {
        const near = Math.round((target(video) / Math.max(1, video.frames - 1)) * 7);
        video.figure.querySelector(".poster").style.objectPosition = `${(near / 7) * 100}% 0`;
      }
    }
  };

  const leader = () => (picked && picked.element ? picked : alive().find((video) => video.key !== "reference") || alive()[0]);
  const note = () => { try { history.replaceState(null, "", `#t=${time.toFixed(3)}`); } catch { /* a page in a frame */ } };
  const go = (seconds, { isFinal = true } = {}) => {
    pause(false);
    load();
    time = Math.min(Math.max(seconds, 0), data.seconds);
    for (const video of alive()) if (video.element.readyState > 0) place(video);
    paint();
    if (isFinal) note();
  };
  const step = (frames) => {
    const video = leader();
    if (!video) return;
    const first = frameAt(video, video.offset);
    const frame = Math.min(Math.max(target(video) + frames, first), video.frames - 1);
    go(video.starts[frame] - video.offset);
  };
  const last = () => { const video = leader(); if (video) go(video.starts[video.frames - 1] - video.offset); };

  const tick = (now) => {
    if (!isPlaying) return;
    const waits = alive().some((video) => !isOver(video) && !video.element.ended &&
      !video.figure.classList.contains("broken") && (video.element.seeking || video.element.paused || video.element.readyState < 3));
    if (!waits) time = Math.min(time + ((now - before) / 1000) * rate, data.seconds);
    before = now;
    for (const video of alive()) if (isOver(video) && !video.element.paused) video.element.pause();
    if (time >= data.seconds) { pause(); last(); return; }
    paint();
    requestAnimationFrame(tick);
  };
  const play = () => {
    if (!alive().length) return;
    load();
    if (time >= data.seconds - 0.05 || alive().every(isOver)) time = 0;
    isPlaying = true;
    byId("play").setAttribute("aria-pressed", "true");
    byId("play").querySelector("span").textContent = "Pause";
    for (const video of alive()) {
      if (isOver(video)) { seek(video, middleOf(video, video.frames - 1)); continue; }
      video.element.playbackRate = rate;
      seek(video, time + video.offset);
      video.element.play().catch(() => {});
    }
    before = performance.now();
    requestAnimationFrame(tick);
  };
  const pause = (isSettled = true) => {
    if (!isPlaying) return;
    isPlaying = false;
    byId("play").setAttribute("aria-pressed", "false");
    byId("play").querySelector("span").textContent = "Play";
    for (const video of alive()) video.element.pause();
    if (isSettled) go(time);
  };
  const toggle = () => (isPlaying ? pause() : play());

  const pick = (number) => {
    const video = alive()[number - 1];
    if (!video) return;
    picked = picked === video ? null : video;
    for (const other of videos.values()) {
      other.figure.classList.toggle("picked", other === picked);
      other.figure.querySelector(".number").setAttribute("aria-pressed", String(other === picked));
    }
    document.body.classList.toggle("has-picked", Boolean(picked));
    for (const line of document.querySelectorAll(".curve-line")) line.classList.toggle("faint", Boolean(picked) && line.dataset.key !== picked.key);
    paint();
  };

  const choose = () => {
    for (const video of videos.values()) {
      const isWanted = !video.box || video.box.checked;
      video.figure.hidden = !isWanted;
      if (isWanted && !video.element) open(video);
      if (!isWanted && video.element) { if (picked === video) pick(alive().indexOf(video) + 1); shut(video); }
    }
    const full = alive().length >= data.alive;
    for (const video of videos.values()) if (video.box) video.box.disabled = full && !video.box.checked;
    alive().forEach((video, number) => { video.figure.querySelector(".number").textContent = String(number + 1); });
    paint();
  };

  // A video without a player takes the place of the last one that has one.
  const bring = (video) => {
    if (video.element || !video.box) return;
    const full = alive().length >= data.alive && alive().filter((other) => other.box).pop();
    if (full) full.box.checked = false;
    video.box.checked = true;
    choose();
  };

  // With nothing to lay over the frames at hand, the clock goes to the return in which most changed.
  const toggleReturn = () => {
    toggleOverlay();
    const worst = document.querySelector("[data-overlay]");
    if (!isLaid || !worst || alive().some((video) => video.shown === data.returns[video.key])) return;
    bring(videos.get(worst.dataset.of));
    go(Number(worst.dataset.overlay));
  };

  const copy = async (button) => {
    const source = button.dataset.copy ? byId(button.dataset.copy) : null;
    const text = source ? source.textContent : location.href;
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "Copied";
    } catch {
      if (source) { getSelection().selectAllChildren(source); button.textContent = "Selected: press Ctrl+C"; }
      else { byId("link-text").textContent = text; getSelection().selectAllChildren(byId("link-text")); button.textContent = "Selected: press Ctrl+C"; }
    }
    setTimeout(() => { button.textContent = button.dataset.label; }, 2500);
  };

  document.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    if ("overlay" in button.dataset) { bring(videos.get(button.dataset.of)); toggleOverlay(true); go(Number(button.dataset.overlay)); byId("players").scrollIntoView({ block: "nearest" }); }
    else if (button.id === "overlay") toggleReturn();
    else if ("jump" in button.dataset) { go(Number(button.dataset.jump)); byId("players").scrollIntoView({ block: "nearest" }); }
    else if ("step" in button.dataset) step(Number(button.dataset.step));
    else if ("number" in button.dataset) pick(Number(button.textContent));
    else if ("label" in button.dataset) copy(button);
    else if (button.id === "play") toggle();
  });
  for (const strip of document.querySelectorAll(".film[data-key] img")) {
    strip.addEventListener("click", (event) => {
      const video = videos.get(strip.parentElement.dataset.key);
      if (video) go((event.offsetX / strip.clientWidth) * video.starts[video.frames]);
    });
  }
  scrubber.addEventListener("input", () => go(Number(scrubber.value), { isFinal: false }));
  scrubber.addEventListener("change", note);
  byId("rate").addEventListener("change", (event) => {
    rate = Number(event.target.value);
    for (const video of alive()) video.element.playbackRate = rate;
  });
  for (const video of videos.values()) if (video.box) video.box.addEventListener("change", choose);

  const actions = {
    " ": toggle, c: toggleReturn, C: toggleReturn, ArrowLeft: () => step(-1), ArrowRight: () => step(1), Home: () => go(0), End: last,
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !byId("keys").checked) return;
    const at = event.target.closest("input:not(#scrubber), select, textarea, button, a, summary, [data-scrolls]");
    if (at && (event.key === " " || !/^[1-6]$/.test(event.key)) && !(at.matches("button") && event.key !== " ")) return;
    const action = /^[1-6]$/.test(event.key) ? () => pick(Number(event.key)) : actions[event.key];
    if (!action) return;
    event.preventDefault();
    if (event.shiftKey && event.key.startsWith("Arrow")) go(time + (event.key === "ArrowLeft" ? -1 : 1));
    else action();
  });

  const follow = () => {
    const match = /^#t=(\d+(?:\.\d+)?)$/.exec(location.hash);
    if (match) go(Number(match[1]), { isFinal: false });
  };
  addEventListener("hashchange", follow);
  document.body.classList.add("live");
  choose();
  paint();
  follow();
})();
