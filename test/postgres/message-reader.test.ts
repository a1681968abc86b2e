import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { MessageReader } from '../../src/postgres/wire/message-reader.ts'

type Message = Readonly<{ type: string; payload: Uint8Array }>

const message = fc.oneof(
  { weight: 6, arbitrary: messageOf('d', 90) },
  { weight: 1, arbitrary: messageOf('d', 700) },
  { weight: 1, arbitrary: messageOf('N', 40) },
)
const stream = fc.record({
  messages: fc.array(message, { maxLength: 60 }),
  readBytes: fc.integer({ min: 1, max: 400 }),
})

test('COPY data and messages are complete, wherever the reads split them', () => {
  fc.assert(
    fc.property(stream, ({ messages, readBytes }) => {
      const seen = readCompacting(messages, readBytes)
      assert.deepEqual(seen.data, Buffer.concat(payloadsOf(messages, 'd')))
      assert.deepEqual(seen.notices, payloadsOf(messages, 'N'))
    }),
    { numRuns: 2_000 },
  )
})

test('without compaction every message is handed over in order', () => {
  fc.assert(
    fc.property(stream, ({ messages, readBytes }) => {
      const reader = new MessageReader(Number.POSITIVE_INFINITY)
      const seen: Message[] = []
      for (const chunk of readsOf(messages, readBytes)) {
        reader.read(chunk, (type, buffer, start, end) =>
          seen.push({
            type: String.fromCharCode(type),
            payload: Uint8Array.from(buffer.subarray(start, end)),
          }),
        )
      }
      assert.deepEqual(seen, messages)
    }),
  )
})

function messageOf(type: string, maxLength: number): fc.Arbitrary<Message> {
  return fc.uint8Array({ maxLength }).map((payload) => ({ type, payload }))
}

function readCompacting(messages: readonly Message[], readBytes: number) {
  const reader = new MessageReader(Number.POSITIVE_INFINITY)
  const data: Buffer[] = []
  const notices: Buffer[] = []
  for (const chunk of readsOf(messages, readBytes)) {
    const length = reader.compact(chunk, (_type, buffer, start, end) =>
      notices.push(Buffer.from(buffer.subarray(start, end))),
    )
    data.push(Buffer.from(chunk.subarray(0, length)))
  }
  return { data: Buffer.concat(data), notices }
}

function* readsOf(messages: readonly Message[], readBytes: number): Generator<Buffer> {
  const bytes = Buffer.concat(messages.map(encode))
  for (let start = 0; start < bytes.length; start += readBytes) {
    yield Buffer.from(bytes.subarray(start, start + readBytes))
  }
}

function encode({ type, payload }: Message): Buffer {
  const header = Buffer.alloc(5)
  header.write(type)
  header.writeInt32BE(payload.length + 4, 1)
  return Buffer.concat([header, payload])
}

function payloadsOf(messages: readonly Message[], type: string): Buffer[] {
  return messages.filter((each) => each.type === type).map(({ payload }) => Buffer.from(payload))
}
