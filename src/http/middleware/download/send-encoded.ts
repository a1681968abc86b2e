import type { ServerResponse } from 'node:http'
import type { Writable } from 'node:stream'
import { freeFilled } from '../../../copy/free-memory.ts'
import { createEncoder, type OutputEncoding } from '../content-encoding.ts'

/**
 * Compresses what is written to it into the response. Like `pipeline`, which does not tell when a chunk is free again. Call
 * before the head is sent.
 */
export function encodedInto(response: ServerResponse, encoding: OutputEncoding): Writable {
  response.setHeader('Content-Encoding', encoding)
  const encoder = createEncoder(encoding)
  encoder
    .on('data', (chunk: Buffer) => {
      if (!response.write(chunk, freeFilled(chunk))) encoder.pause()
    })
    .on('end', () => response.end())
    .on('error', (error) => response.destroy(error))
  response.on('drain', () => encoder.resume()).on('close', () => encoder.destroy())
  return encoder
}
