/* The theme that a reader chose before, set before anything is drawn. */
"use strict";
try {
  const chosen = localStorage.getItem("abilock-theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
} catch { /* storage may be forbidden: then the system's theme counts */ }
