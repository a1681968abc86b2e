/** What the descriptions of the SQL side have in common. */

export const text = (description: string) => ({ type: 'string', description })

export const apiKey = text(
  'The token of an API key, unless it comes as the password of HTTP Basic authentication.',
)

export const error = {
  type: 'object',
  properties: {
    error: { type: 'array', items: { type: 'string' } },
    detail: { type: 'string' },
    hint: { type: 'string' },
    context: { type: 'string' },
    position: { type: 'integer' },
  },
}
