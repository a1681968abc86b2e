import { connect, type Socket } from 'node:net'
import { percentile } from '../frame/measure.ts'

export type LoadResult = Readonly<{ rate: number; p50Ms: number; p99Ms: number }>

/**
 * GETs one URL over kept connections for a while. Sockets and bytes, no HTTP client: what the load costs should not
 * be taken for what the service costs.
 */
export async function rawLoad(
  urls: readonly string[],
  connections: number,
  durationMs: number,
): Promise<LoadResult> {
  const latencies: number[] = []
  const start = performance.now()
  const deadline = start + durationMs
  await Promise.all(
    Array.from({ length: connections }, (_, place) =>
      client(urls[place % urls.length]!, deadline, latencies),
    ),
  )
  return {
    rate: latencies.length / ((performance.now() - start) / 1000),
    p50Ms: percentile(latencies, 50),
    p99Ms: percentile(latencies, 99),
  }
}

async function client(url: string, deadline: number, latencies: number[]): Promise<void> {
  const { host, hostname, port, pathname, search } = new URL(url)
  const request = Buffer.from(`GET ${pathname}${search} HTTP/1.1\r\nHost: ${host}\r\n\r\n`)
  const socket = connect(Number(port), hostname).setNoDelay(true)
  try {
    for (let now = performance.now(); now < deadline; ) {
      const sentAt = now
      socket.write(request)
      await answered(socket)
      now = performance.now()
      latencies.push(now - sentAt)
    }
  } finally {
    socket.destroy()
  }
}

/** Resolves when one whole answer of status 200 has come. */
function answered(socket: Socket): Promise<void> {
  return new Promise((resolve, reject) => {
    let left: number | undefined
    let tail = ''
    const onData = (chunk: Buffer) => {
      if (left === undefined && tail === '') {
        const headEnd = chunk.indexOf('\r\n\r\n')
        const head = chunk.toString('latin1', 0, headEnd)
        if (!head.startsWith('HTTP/1.1 200')) return end(new Error(head.split('\r\n', 1)[0]))
        const length = /content-length: (\d+)/i.exec(head)?.[1]
        if (length !== undefined) left = Number(length) + headEnd + 4
      }
      if (left !== undefined) {
        left -= chunk.length
        if (left === 0) end()
        return
      }
      // A chunked answer ends with a chunk of no bytes.
      tail = (tail + chunk.toString('latin1', Math.max(0, chunk.length - 7))).slice(-7)
      if (tail === '\r\n0\r\n\r\n') end()
    }
    const end = (error?: Error) => {
      socket.off('data', onData).off('error', end).off('close', onClose)
      if (error) reject(error)
      else resolve()
    }
    const onClose = () => end(new Error('the connection was closed'))
    socket.on('data', onData).once('error', end).once('close', onClose)
  })
}
