/** What the descriptions of several endpoints have in common. */

export const text = (description: string) => ({ type: 'string', description })

export const apiKey = text(
  'The token of an API key, unless it comes as the password of HTTP Basic authentication.',
)

export const error = {
  title: 'Error',
  type: 'object',
  properties: {
    error: { type: 'array', items: { type: 'string' } },
    code: { type: 'string' },
    sqlstate: { type: 'string' },
    detail: { type: 'string' },
    hint: { type: 'string' },
    context: { type: 'string' },
    position: { type: 'integer' },
  },
}

/** Old clients put both into every body: used or ignored, never stored, never shown again. */
export const knownExtras = {
  api_key: { description: 'A credential, where there is neither a Basic header nor a query parameter' },
  client: { description: 'What the client calls itself. Ignored.' },
} as const
