import { Agent, get } from 'node:http'
import { text } from 'node:stream/consumers'

export type Request = Readonly<{ url: string; headers?: Readonly<Record<string, string>>; status: number }>

/** Sends the request this many times over some keep-alive connections; returns requests per second. */
export async function requestRate(request: Request, count: number, connections: number): Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: connections })
  let left = count
  const client = async () => {
    while (left-- > 0) await send(request, agent)
  }
  const start = performance.now()
  try {
    await Promise.all(Array.from({ length: connections }, client))
    return count / ((performance.now() - start) / 1000)
  } finally {
    agent.destroy()
  }
}

function send({ url, headers = {}, status }: Request, agent: Agent): Promise<void> {
  return new Promise((resolve, reject) => {
    const request = get(url, { agent, headers }, (answer) => {
      text(answer).then((body) => {
        if (answer.statusCode === status) resolve()
        else reject(new Error(`${url}: ${answer.statusCode} ${body}`))
      }, reject)
    })
    request.once('error', reject)
  })
}
