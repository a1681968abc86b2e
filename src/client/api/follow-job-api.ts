import type { FullJobDocument } from '../../contract/documents.ts'
import { isFinal } from '../../contract/job-status.ts'
import { cutAnswer } from '../cartage-error.ts'
import { isPassing, pause, waitBeforeReconnect } from '../http/retry.ts'
import { type Connection, plainJson, send, wholeOrThrow } from '../http/send.ts'
import { type Following, untilAnswered } from './until-answered.ts'

/**
 * The document of a job at each change, with its progress, until it has ended. A lost connection is opened again, and
 * no document comes twice.
 */
export async function* followJob(
  connection: Connection,
  name: string,
  jobId: string,
  options: Omit<Following, 'onChange'> = {},
): AsyncGenerator<FullJobDocument, void> {
  const { signal } = options
  let lastId = ''
  for (let losses = 0; ; losses++) {
    const silence = new AbortController()
    const either = signal ? AbortSignal.any([signal, silence.signal]) : silence.signal
    const headers = { accept: 'text/event-stream', ...(lastId && { 'last-event-id': lastId }) }
    const call = { parameters: { name, jobId }, headers, signal: either }
    const { body, status } = await untilAnswered(jobId, () => send(connection, 'followJob', call), options)
    if (status === 204) return
    try {
      for await (const event of eventsIn(wholeOrThrow(body, either), silence)) {
        lastId = event.id
        losses = 0
        const job = (connection.json ?? plainJson).read(event.data) as FullJobDocument
        yield job
        if (isFinal(job.status)) return
      }
    } catch (error) {
      signal?.throwIfAborted()
      if (!isPassing(error) && !silence.signal.aborted) throw error
    }
    await pause(waitBeforeReconnect(undefined, losses), signal)
  }
}

type SentEvent = Readonly<{ id: string; data: string }>

/** The events of a stream. The service sends something every 15 seconds: a connection that is silent for long is dead. */
async function* eventsIn(
  bytes: AsyncIterable<Uint8Array>,
  silence: AbortController,
): AsyncGenerator<SentEvent> {
  const decoder = new TextDecoder()
  let text = ''
  let timer: ReturnType<typeof setTimeout> | undefined
  const wait = () => {
    clearTimeout(timer)
    timer = setTimeout(() => silence.abort(cutAnswer(new Error('the service is silent'))), longestSilenceMs)
  }
  try {
    wait()
    for await (const chunk of bytes) {
      wait()
      text += decoder.decode(chunk, { stream: true })
      const blocks = text.split('\n\n')
      text = blocks.pop()!
      for (const block of blocks) {
        const event = eventOf(block)
        if (event) yield event
      }
    }
  } finally {
    clearTimeout(timer)
  }
}

/** A comment, or how long to wait before a reconnect, is no event. */
function eventOf(block: string): SentEvent | undefined {
  const fields = new Map(block.split('\n').map((line) => [line.split(': ', 1)[0]!, line]))
  const data = fields.get('data')?.slice('data: '.length)
  return data === undefined ? undefined : { id: fields.get('id')?.slice('id: '.length) ?? '', data }
}

const longestSilenceMs = 45_000
