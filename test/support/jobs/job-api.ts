import assert from 'node:assert/strict'
import type { FullItemDocument, FullJobDocument, JobDocument } from '../../../src/contract/documents.ts'
import { basic, type TestUser } from '../service/setup.ts'

export type Answer<Body> = Readonly<{ status: number; headers: Headers; body: Body }>
export type Refusal = Readonly<{ error: string[]; errors?: string[] }>

/** The job endpoints of one user, as its owner calls them. */
export function jobApi({ base, username, masterToken }: TestUser, headers = basic(username, masterToken)) {
  const path = (id = '') => `${base}/api/v2/sql/job${id && `/${id}`}`
  const call = async (method: string, url: string, body?: unknown, extra: Record<string, string> = {}) => {
    const init = { method, headers: { ...headers, ...extra } as Record<string, string> }
    if (body !== undefined) init.headers['content-type'] ??= 'application/json'
    const response = await fetch(url, {
      ...init,
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    const text = await response.text()
    return { status: response.status, headers: response.headers, body: JSON.parse(text) as unknown }
  }
  const accepted = async (status: number, answer: Promise<Answer<unknown>>) => {
    const { status: found, body } = await answer
    assert.equal(found, status, JSON.stringify(body))
    return body as JobDocument
  }
  return {
    path,
    call: call as <Body = Refusal>(
      method: string,
      url: string,
      body?: unknown,
      extra?: Record<string, string>,
    ) => Promise<Answer<Body>>,
    submit: (query: unknown, beside: object = {}) =>
      accepted(201, call('POST', path(), { query, ...beside })),
    read: (id: string) => accepted(200, call('GET', path(id))),
    /** Waits for the end of the job. */
    ended: async (id: string) => {
      for (const deadline = Date.now() + 60_000; ; ) {
        const job = await accepted(200, call('GET', `${path(id)}?wait=10`))
        if (job.status !== 'pending' && job.status !== 'running') return job
        assert.ok(Date.now() < deadline, `the job is still ${job.status}`)
      }
    },
    cancel: (id: string) => accepted(200, call('DELETE', path(id))),
    update: (id: string, query: unknown) => accepted(200, call('PUT', path(id), { query })),
  }
}

export type JobApi = ReturnType<typeof jobApi>

/** Runs a job to its end. */
export async function runJob(api: JobApi, query: unknown, beside: object = {}): Promise<JobDocument> {
  const { job_id: id } = await api.submit(query, beside)
  return api.ended(id)
}

/** The items of a document in any form. */
export function itemsOf({ query }: JobDocument | FullJobDocument): readonly FullItemDocument[] {
  assert.ok(typeof query !== 'string')
  return 'query' in query ? query.query : query
}

export const statusesOf = (job: JobDocument) => itemsOf(job).map(({ status }) => status)

/** A statement that runs until it is stopped. */
export const endless = 'select pg_sleep(600)'
