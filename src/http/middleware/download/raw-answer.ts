import type { ServerResponse } from 'node:http'
import type { Writable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import { freeFilled } from '../../../copy/free-memory.ts'
import { createEncoder, type Encoder, type OutputEncoding } from '../content-encoding.ts'

/** The response past Fastify, with the headers of the reply and others. They are sent with the first bytes. */
export function hijacked(reply: FastifyReply, others: Readonly<Record<string, string>> = {}): ServerResponse {
  const response = reply.hijack().raw
  for (const [name, value] of Object.entries({ ...reply.getHeaders(), ...others }))
    if (value !== undefined) response.setHeader(name, value)
  return response
}

/**
 * Breaks off a started answer, so that no client takes the part for the whole. Without chunked encoding only a reset
 * shows it.
 */
export function breakOff({ socket, chunkedEncoding }: ServerResponse): void {
  if (chunkedEncoding) socket?.destroy()
  else socket?.resetAndDestroy()
}

/**
 * Compresses what is written to it into the response. Like `pipeline`, which does not tell when a chunk is free again. Call
 * before the head is sent.
 */
export function encodedInto(response: ServerResponse, encoding: OutputEncoding): Writable {
  response.setHeader('Content-Encoding', encoding)
  // Much fits into the encoder before it gives a byte. An answer that breaks off until then is one that began.
  response.flushHeaders()
  const encoder = createEncoder(encoding)
  encoder
    .on('data', (chunk: Buffer) => {
      if (!response.write(chunk, freeFilled(chunk))) encoder.pause()
    })
    .on('end', () => response.end())
    .on('error', (error) => response.destroy(error))
  const stopFlushing = flushWhileQuiet(encoder)
  response
    .on('drain', () => encoder.resume())
    .on('close', () => {
      stopFlushing()
      encoder.destroy()
    })
  return encoder
}

/** What has been compressed is sent when nothing follows it for a moment: the next row may be a minute away. */
function flushWhileQuiet(encoder: Encoder): () => void {
  let [taken, flushed] = [0, 0]
  const timer = setInterval(() => {
    if (encoder.bytesWritten === taken && taken !== flushed && !encoder.writableEnded) {
      encoder.flush()
      flushed = taken
    }
    taken = encoder.bytesWritten
  }, quietMs)
  return () => clearInterval(timer)
}

const quietMs = 100
