import assert from 'node:assert/strict'
import type { FullJobDocument } from '../../../src/contract/documents.ts'
import type { TestUser } from '../service/setup.ts'
import { jobApi, type Refusal } from './job-api.ts'

/** The /api/v4 job endpoints of one user, as its owner calls them. */
export function fullJobApi(user: TestUser) {
  const classic = jobApi(user)
  const path = (id = '') => `${user.base}/api/v4/jobs${id && `/${id}`}`
  const { call } = classic
  const read = async (id: string) => {
    const { status, body } = await call<FullJobDocument>('GET', path(id))
    assert.equal(status, 200, JSON.stringify(body))
    return body
  }
  const submit = async (body: object | string): Promise<FullJobDocument> => {
    const { status, body: job } = await call<FullJobDocument>('POST', path(), body)
    assert.equal(status, 201, JSON.stringify(job))
    return job
  }
  const ended = async (id: string) => {
    await classic.ended(id)
    return read(id)
  }
  return {
    path,
    call,
    read,
    submit,
    ended,
    run: async (body: object | string) => ended((await submit(body)).job_id),
    refusal: async (body: object | string): Promise<string> => {
      const { status, body: answer } = await call<Refusal>('POST', path(), body)
      assert.equal(status, 400, JSON.stringify(answer))
      return answer.error[0]!
    },
    cancel: classic.cancel,
  }
}
