import type { OperationId } from '../../contract/operations.ts'
import { checkedStart, checkType, readAnswer } from './expected-answer.ts'
import {
  type Call,
  type Connection,
  type OnProgress,
  plainJson,
  send,
  sendForText,
  wholeOrThrow,
} from './send.ts'

/** The document of the answer, which must be the one that was asked for. */
export async function sendForJson<T>(
  connection: Connection,
  operation: OperationId,
  call: Call = {},
): Promise<T> {
  const text = await sendForText(connection, operation, call)
  return readAnswer(operation, text, (connection.json ?? plainJson).read) as T
}

/** Told what a file does not hold as the query had it. */
export type OnWarnings = (warnings: readonly string[]) => void

/** The body of the answer, piece by piece, if it looks as it must. */
export async function sendForBytes(
  connection: Connection,
  operation: OperationId,
  call: Call,
  onProgress?: OnProgress,
  onWarnings?: OnWarnings,
): Promise<AsyncIterable<Uint8Array>> {
  const { body, header } = await send(connection, operation, call)
  const warnings = header('warnings')
  if (onWarnings && warnings) onWarnings(plainJson.read(warnings) as readonly string[])
  const bytes = wholeOrThrow(body, call.signal, onProgress)
  if (!call.look) return bytes
  checkType(header('content-type'), call.look.type)
  return call.look.start === '' ? bytes : checkedStart(bytes, call.look.start)
}
