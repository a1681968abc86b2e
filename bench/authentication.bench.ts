import type { Entry } from './frame/entry.ts'
import { type Frame, inFrame } from './frame/frame.ts'
import { requestRate } from './frame/load.ts'

const connections = 8

export const entries: readonly Entry[] = [
  {
    name: 'credential-check',
    title: 'A request with a token, answered before it reaches the database',
    baseline: 'the same without a credential',
    unit: '1/s',
    aim: '0.9 or more',
    pairs: 15,
    // Without `q` the SQL endpoint identifies the caller and then refuses.
    prepare: inFrame((frame) => compare(frame, { path: '/api/v2/sql', status: 400, count: 3000 })),
  },
  {
    name: 'authenticated-query',
    title: 'SELECT 1 with a token',
    baseline: 'the same without a credential',
    unit: '1/s',
    aim: '0.95 or more',
    pairs: 15,
    prepare: inFrame((frame) =>
      compare(frame, { path: '/api/v2/sql?q=select%201', status: 200, count: 1500 }),
    ),
  },
]

type Target = Readonly<{ path: string; status: number; count: number }>

async function compare(frame: Frame, { path, status, count }: Target) {
  const service = await frame.startService()
  const created = await service.admin('POST', '/users', { username: 'someone' })
  const { api_key: token } = created as { api_key: string }
  const url = `${service.url}/user/someone${path}`
  const authorization = `Basic ${Buffer.from(`someone:${token}`).toString('base64')}`
  return {
    baseline: () => requestRate({ url, status }, count, connections),
    ours: () => requestRate({ url, status, headers: { authorization } }, count, connections),
  }
}
