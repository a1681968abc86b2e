import assert from 'node:assert/strict'
import { parse } from 'node:querystring'
import { test } from 'node:test'
import fc from 'fast-check'
import { NotUtf8, parseForm } from '../../src/http/middleware/body/form.ts'
import { post } from '../support/http/ask.ts'
import { setup } from '../support/service/setup.ts'

test('any form is read as node:querystring reads it', () => {
  const part = fc.oneof(
    fc.constantFrom(
      '&',
      '=',
      '+',
      '%',
      '%4',
      '%41',
      '%zz',
      '%ff',
      '%C3%B6',
      '%c3',
      'q',
      'a',
      '__proto__',
      ' ',
    ),
    fc.string(),
  )
  fc.assert(
    fc.property(fc.array(part), (parts) => {
      const text = parts.join('')
      assert.deepEqual(parseForm(Buffer.from(text)), parse(text))
    }),
    { numRuns: 2_000 },
  )
  const many = 'a=1&'.repeat(2_000)
  assert.deepEqual(parseForm(Buffer.from(many)), parse(many))
})

test('a long form full of percent signs takes no longer than any other', () => {
  const start = process.cpuUsage()
  const { q } = parseForm(Buffer.from(`q=${'+%'.repeat(8_000_000)}`))
  const { user, system } = process.cpuUsage(start)
  assert.equal(q?.length, 16_000_000)
  assert.ok(user + system < 1_500_000, `${(user + system) / 1e6} s`)
})

test('bytes that are not UTF-8 are refused in params, wherever sent, and unchanged elsewhere', async (t) => {
  const { user } = await setup(t)
  assert.throws(() => parseForm(Buffer.from('a=%ff'), 'a'), NotUtf8)
  const form = { 'content-type': 'application/x-www-form-urlencoded' }
  const rest = `&q=select+$1::text+as+v&api_key=${user.masterToken}`
  for (const bytes of ['%ff', '\xff', '%c3%28', '%ed%a0%80']) {
    const body = Buffer.from(`params=["${bytes}"]${rest}`, 'latin1')
    const reply = await post(user, { headers: form, body })
    assert.deepEqual([reply.status, reply.body.error], [400, ['The request body is not valid UTF-8']], bytes)
  }
  for (const name of ['params', 'p%61rams']) {
    const inQuery = await fetch(`${user.base}/api/v2/sql?${name}=["%ff"]${rest}`)
    const { error } = (await inQuery.json()) as { error: string[] }
    assert.deepEqual([inQuery.status, error], [400, ['params is not valid UTF-8']])
  }
  const broken = multipart({ api_key: user.masterToken, q: 'select $1::text as v', params: '["\xff"]' })
  const inMultipart = await post(user, broken)
  assert.deepEqual(
    [inMultipart.status, inMultipart.body.error],
    [400, ['The request body is not valid UTF-8']],
  )
  const fine = await post(user, { headers: form, body: `params=["%EF%BF%BD%C3%B6ö"]${rest}` })
  assert.deepEqual(fine.body.rows, [{ v: '\uFFFDöö' }])
  const classic = await post(user, { headers: form, body: `q=select+'100%,+ö%ff'+as+v` })
  assert.deepEqual(classic.body.rows, [{ v: '100%, ö\uFFFD' }])
})

test('a multipart field is read as its bytes, whatever content type its part has', async (t) => {
  const { user } = await setup(t)
  for (const type of ['application/json', 'text/plain; charset=utf-16le', 'application/octet-stream']) {
    const fields = {
      api_key: user.masterToken,
      q: 'select $1::int8::text as n',
      params: '[9007199254740993]',
    }
    const { body } = await post(user, multipart(fields, type))
    assert.deepEqual(body.rows, [{ n: '9007199254740993' }], type)
  }
})

/** A body encoded in Latin-1. */
function multipart(fields: Readonly<Record<string, string>>, type?: string) {
  const parts = Object.entries(fields).map(([name, value]) => {
    const head = `Content-Disposition: form-data; name="${name}"${type === undefined ? '' : `\r\nContent-Type: ${type}`}`
    return `--frontier\r\n${head}\r\n\r\n${value}\r\n`
  })
  return {
    headers: { 'content-type': 'multipart/form-data; boundary=frontier' },
    body: Buffer.from(`${parts.join('')}--frontier--\r\n`, 'latin1'),
  }
}
