import type { View } from '../../maps/named/view.ts'
import { escapeHtml } from '../console/console-files.ts'

/** The HTML around a map or a dashboard, which is drawn by the code of the console's build. */
export class MapPage {
  readonly #what: 'map' | 'dashboard'
  readonly #html: string
  readonly #isBuilt: boolean

  /** `built`: with `<!-- head -->` and `<!-- body -->`; undefined: the console is not in this build. */
  constructor(built: string | undefined, what: 'map' | 'dashboard' = 'map') {
    this.#what = what
    this.#html =
      built ?? '<!doctype html>\n<html lang="en"><!-- head -->\n<body><!-- body --></body></html>\n'
    this.#isBuilt = built !== undefined
  }

  of({ title, description = '' }: Pick<View, 'title' | 'description'>, name: string): string {
    const what = this.#what
    if (!this.#isBuilt) return this.sorry(`The ${what} page is not in this build of the service.`)
    return this.#filled(
      title || name,
      description,
      `<main id="${what}" class="${what}-page"></main>\n<noscript>This ${what} needs JavaScript.</noscript>`,
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
