/** Adds the styles of a page or component to the document. Called once, when its code is loaded. */
export function adoptStyles(css: string): void {
  document.adoptedStyleSheets.push(sheetOf(css))
}

/** A style sheet for a shadow root. */
export function sheetOf(css: string): CSSStyleSheet {
  const sheet = new CSSStyleSheet()
  sheet.replaceSync(css)
  return sheet
}
