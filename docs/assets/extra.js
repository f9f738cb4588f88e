// Inline code wraps where a reader would break it: an option such as --measure-first stays whole, and a long name may
// break between its parts. The style sheet decides on which screens.
const OPTION = /(?<![\w-])(--?[A-Za-z][\w-]*)/;
const PARTS = /(?<=[_:=/(])(?=[\w{])|(?<=\.)(?=[A-Za-z]\w{3})/;
const PARTS_OF_A_TEST = /(?<=[_:])(?=\w)/;

for (const code of document.querySelectorAll(".md-typeset :not(pre) > code")) {
  if (code.childElementCount) continue;
  const text = code.textContent;
  code.classList.toggle("long", text.length > 20);
  code.classList.toggle("very-long", text.length > 44);
  code.replaceChildren(
    ...text.split(OPTION).flatMap((part, i) => {
      if (i % 2) return whole(part);
      const pieces = part.split(text.includes("::") ? PARTS_OF_A_TEST : PARTS);
      return pieces.flatMap((piece, k) => (k ? [document.createElement("wbr"), piece] : [piece]));
    }),
  );
}

function whole(text) {
  const span = document.createElement("span");
  span.className = "whole";
  span.textContent = text;
  return span;
}
