import type { View } from '../../maps/named/view.ts'
import { escapeHtml } from './escape-html.ts'

/** The HTML around a map. The map itself is drawn by the code of the console's build. */
export class MapPage {
  readonly #html: string
  readonly #isBuilt: boolean

  /** `built`: with `<!-- head -->` and `<!-- body -->`; undefined: the console is not in this build. */
  constructor(built: string | undefined) {
    this.#html =
      built ?? '<!doctype html>\n<html lang="en"><!-- head -->\n<body><!-- body --></body></html>\n'
    this.#isBuilt = built !== undefined
  }

  of({ title, description = '' }: Pick<View, 'title' | 'description'>, name: string): string {
    if (!this.#isBuilt) return this.sorry('The map page is not in this build of the service.')
    return this.#filled(
      title || name,
      description,
      `<main id="map" class="map-page"></main>\n<noscript>This map needs JavaScript.</noscript>`,
    )
  }

  sorry(text: string): string {
    return this.#filled(text, '', `<main class="sorry"><h1>${escapeHtml(text)}</h1></main>`)
  }

  #filled(title: string, description: string, body: string): string {
    const tags = [
      `<title>${escapeHtml(title)}</title>`,
      `<meta property="og:title" content="${escapeHtml(title)}">`,
      ...(description ? [`<meta name="description" content="${escapeHtml(description)}">`] : []),
    ]
    // By functions: `$&` in a title is a text, not a pattern.
    return this.#html.replace('<!-- head -->', () => tags.join('\n')).replace('<!-- body -->', () => body)
  }
}
