import { request } from 'node:http'
import { parentPort } from 'node:worker_threads'

/** Builds large requests and sends them, outside the thread that answers them and is measured. */
parentPort.on('message', async ({ url, method, headers, body }) => {
  try {
    const { type, bytes } = body ? encoders[body.encoding](body.members) : {}
    const all = { ...headers, ...(type && { 'content-type': type, 'content-length': bytes.length }) }
    parentPort.postMessage(await send(url, { method, headers: all }, bytes))
  } catch (error) {
    parentPort.postMessage({ status: 0, text: String(error) })
  }
})

function send(url, options, bytes) {
  return new Promise((resolve, reject) => {
    const sent = request(url, options, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (chunk) => {
        if (text.length < 500) text += chunk
      })
      response.on('end', () => resolve({ status: response.statusCode, text })).on('error', reject)
    })
    sent.on('error', reject).end(bytes)
  })
}

/** A value is a text, a unit repeated between two texts, or JSON. */
const textOf = (value, encode) =>
  typeof value === 'string'
    ? encode(value)
    : encode(value.before ?? '') + encode(value.unit).repeat(value.count) + encode(value.after ?? '')

const jsonOf = (value) =>
  value.isJson
    ? textOf(value, (text) => text)
    : `"${textOf(value, (text) => JSON.stringify(text).slice(1, -1))}"`

const encoders = {
  json: (members) => ({
    type: 'application/json',
    bytes: Buffer.from(`{${members.map(([name, value]) => `${JSON.stringify(name)}:${jsonOf(value)}`)}}`),
  }),
  form: (members) => ({
    type: 'application/x-www-form-urlencoded',
    bytes: Buffer.from(
      members.map(([name, value]) => `${name}=${textOf(value, encodeURIComponent)}`).join('&'),
    ),
  }),
  multipart: (members) => {
    const parts = members.map(
      ([name, value]) =>
        `--x\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${textOf(value, (text) => text)}\r\n`,
    )
    return { type: 'multipart/form-data; boundary=x', bytes: Buffer.from(`${parts.join('')}--x--\r\n`) }
  },
}
