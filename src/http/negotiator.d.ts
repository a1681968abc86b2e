/** The part that we use: the published types do not know `preferred` yet. */
declare module 'negotiator' {
  export default class Negotiator {
    constructor(request: { readonly headers: Readonly<Record<string, string>> })
    encodings(available: readonly string[], options: { readonly preferred: readonly string[] }): string[]
  }
}
