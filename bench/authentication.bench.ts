import type { Benchmark } from './frame/benchmark.ts'
import type { Frame } from './frame/frame.ts'
import { requestRate } from './frame/load.ts'

const connections = 8

export const benchmarks: readonly Benchmark[] = [
  {
    name: 'credential-check',
    title: 'checking a credential: a request that is answered before it reaches the database',
    unit: 'requests/s',
    rounds: 15,
    // Without `q` the SQL endpoint identifies the caller and then refuses.
    prepare: (frame) => compare(frame, { path: '/api/v2/sql', status: 400, count: 3000 }),
  },
  {
    name: 'authenticated-query',
    title: 'the same with a statement: SELECT 1',
    unit: 'requests/s',
    rounds: 15,
    prepare: (frame) => compare(frame, { path: '/api/v2/sql?q=select%201', status: 200, count: 1500 }),
  },
]

async function compare(
  frame: Frame,
  { path, status, count }: { path: string; status: number; count: number },
) {
  const service = await frame.startService()
  const { api_key: token } = (await service.admin('POST', '/users', { username: 'someone' })) as {
    api_key: string
  }
  const url = `${service.url}/user/someone${path}`
  const authorization = `Basic ${Buffer.from(`someone:${token}`).toString('base64')}`
  return {
    baseline: {
      name: 'without a credential',
      measure: () => requestRate({ url, status }, count, connections),
    },
    candidates: [
      {
        name: 'with a token',
        measure: () => requestRate({ url, status, headers: { authorization } }, count, connections),
      },
    ],
  }
}
