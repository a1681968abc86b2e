import { readFile } from 'node:fs/promises'
import { type IncomingMessage, request as startRequest } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { gunzipSync } from 'node:zlib'

/**
 * The requests of a client and the answers, made by record.ts: in order, header by header. Names that differ from run
 * to run are placeholders: `{host}`, `{user}`, `{token}`, `{basic}`, and `{job_id 1}` or `{token 1}` for the first id
 * or token in an answer.
 */
export type Exchange = Readonly<{
  method: string
  path: string
  headers: readonly (readonly [name: string, value: string])[]
  /** Text, or base64 if it is not text. */
  body?: string
  base64?: string
  answer: Answer
}>

export type Answer = Readonly<{ status: number; type: string; content: unknown }>

export const readRecording = async (client: string) =>
  JSON.parse(await readFile(`test/clients/recordings/${client}.json`, 'utf8')) as readonly Exchange[]

/** Maps values to placeholders. */
export class Names {
  readonly #values: Map<string, string>

  constructor(known: Readonly<Record<string, string>>) {
    this.#values = new Map(Object.entries(known))
  }

  /** New ids and tokens of an answer get the next number. */
  learn(content: unknown): void {
    JSON.stringify(content, (name, value: unknown) => {
      if ((name === 'job_id' || name === 'token') && typeof value === 'string' && !this.#isKnown(value)) {
        const count = [...this.#values.keys()].filter((each) => each.startsWith(`${name} `)).length
        this.#values.set(`${name} ${count + 1}`, value)
      }
      return value
    })
  }

  hide(text: string): string {
    let hidden = text
    // Long ones first: one may contain another.
    const all = [...this.#values].sort(([, one], [, other]) => other.length - one.length)
    for (const [name, value] of all) hidden = hidden.replaceAll(value, `{${name}}`)
    return hidden
  }

  show(text: string): string {
    return text.replace(/\{([a-z_]+(?: \d+)?)\}/g, (whole, name: string) => this.#values.get(name) ?? whole)
  }

  #isKnown(value: string): boolean {
    return value === 'default_public' || [...this.#values.values()].includes(value)
  }
}

/** Sends a request as recorded: the same headers in the same order, and no others. */
export async function replay(url: string, exchange: Exchange, names: Names): Promise<Answer> {
  const { method, path, headers, body, base64 } = exchange
  const sent = startRequest(`${url}${names.show(path)}`, { method, setHost: false })
  const bytes = base64 === undefined ? Buffer.from(names.show(body ?? '')) : Buffer.from(base64, 'base64')
  for (const [name, value] of headers) {
    sent.setHeader(name, /^content-length$/i.test(name) ? String(bytes.length) : names.show(value))
  }
  const answered = new Promise<IncomingMessage>((resolve, reject) => {
    sent.once('response', resolve).once('error', reject)
  })
  sent.end(bytes.length > 0 ? bytes : undefined)
  return readAnswer(await answered, names)
}

export async function readAnswer(response: IncomingMessage, names: Names): Promise<Answer> {
  const bytes = await buffer(response)
  const text = (response.headers['content-encoding'] === 'gzip' ? gunzipSync(bytes) : bytes).toString()
  const type = response.headers['content-type'] ?? ''
  const isJson = type.startsWith('application/json')
  if (isJson) names.learn(JSON.parse(text))
  const hidden = names.hide(text)
  return { status: response.statusCode!, type, content: isJson ? JSON.parse(hidden, withoutTimes) : hidden }
}

/** What differs in every run. */
function withoutTimes(name: string, value: unknown): unknown {
  return /^(time|.*_at|.*size.*|row_count|name_or_hash)$/.test(name) ? '*' : value
}
