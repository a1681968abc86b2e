import assert from 'node:assert/strict'
import { test } from 'node:test'
import { renderFallback } from '../../src/jobs/fallback-template.ts'

/** Templates and error messages of the greatest length, of kinds that make a regular expression or a search slow. */
const longest: readonly (readonly [template: string, errorMessage: string])[] = [
  ['select <%= error_message %>, '.repeat(550), 'x'.repeat(65_000)],
  ["select '<%= error_message %>', ".repeat(500), "'".repeat(65_000)],
  ['/*<%= error_message %>*/'.repeat(600), `x${'*'.repeat(65_000)}x`],
  ['-- <%= error_message %>\n'.repeat(600), `${'-'.repeat(65_000)}x`],
  ['do $$<%= error_message %>$$;'.repeat(500), `${'/'.repeat(65_000)}x`],
  ['$a$<%= error_message %>$a$,'.repeat(600), `$a$${dollarTags()}`],
]

test('a fallback that holds the error message hundreds of times is filled in quickly', () => {
  for (const [template, errorMessage] of longest) {
    const spent = Math.min(
      ...[1, 2, 3].map(() => cpuMs(() => renderFallback(template, { jobId: 'a', errorMessage }))),
    )
    // Linear work takes some 20 ms; a search that restarts at each character takes seconds.
    assert.ok(spent < 250, `${template.slice(0, 30)}: ${Math.round(spent)} ms`)
  }
})

test('an error message is cut where its copies would make the statement too long', () => {
  const once = renderFallback('select <%= error_message %>', { jobId: 'a', errorMessage: 'x'.repeat(65_000) })
  assert.equal(once.length, "select ''".length + 65_000)
  const often = renderFallback('select <%= error_message %>;'.repeat(500), {
    jobId: 'a',
    errorMessage: 'x'.repeat(65_000),
  })
  assert.ok(often.length < 300_000, `${often.length} characters`)
})

function dollarTags(): string {
  return Array.from({ length: 10_000 }, (_, n) => `$t${n}$`).join('')
}

function cpuMs(work: () => unknown): number {
  const start = process.cpuUsage()
  work()
  const { user, system } = process.cpuUsage(start)
  return (user + system) / 1000
}
