import assert from 'node:assert/strict'
import { test } from 'node:test'
import { propagation, type Span, type SpanContext, trace } from '@opentelemetry/api'
import { basic, eventually, setup } from '../support/service/setup.ts'

const traceId = '0af7651916cd43dd8448eb211c80319c'

test('with an OpenTelemetry SDK every request is a span of its caller’s trace and has no secret', async (t) => {
  const ended = recordSpans()
  const { user } = await setup(t)
  const headers = {
    traceparent: `00-${traceId}-b7ad6b7169203331-01`,
    ...basic(user.username, user.masterToken),
  }
  await fetch(`${user.base}/api/v2/sql?q=select+1&api_key=${user.masterToken}`, { headers })
  const span = await eventually(() => {
    const found = ended.find(({ name }) => name === 'GET /user/:name/api/v2/sql')
    assert.ok(found)
    return found
  })
  assert.equal(span.traceId, traceId)
  assert.equal(span.attributes['http.response.status_code'], 200)
  assert.ok(!JSON.stringify(ended).includes(user.masterToken))
  assert.ok(!JSON.stringify(ended).includes(user.username))
})

type Ended = { name: string; traceId: string; attributes: Record<string, unknown> }

/** The least that an SDK does: continues the trace in the header and collects ended spans. */
function recordSpans(): readonly Ended[] {
  const ended: Ended[] = []
  propagation.setGlobalPropagator({
    inject: () => undefined,
    fields: () => ['traceparent'],
    extract: (context, carrier) => {
      const [, id, spanId] = String((carrier as { traceparent?: string }).traceparent).split('-')
      return id && spanId ? trace.setSpanContext(context, { traceId: id, spanId, traceFlags: 1 }) : context
    },
  })
  trace.setGlobalTracerProvider({
    getTracer: () => ({
      startSpan: (name, options, context) => {
        const parent = context && trace.getSpanContext(context)
        const attributes: Record<string, unknown> = { ...options?.attributes }
        const spanContext: SpanContext = {
          traceId: parent?.traceId ?? '',
          spanId: '1'.repeat(16),
          traceFlags: 1,
        }
        return {
          spanContext: () => spanContext,
          isRecording: () => true,
          setAttribute: (key: string, value: unknown) => {
            attributes[key] = value
          },
          setStatus: () => undefined,
          end: () => ended.push({ name, traceId: spanContext.traceId, attributes }),
        } as unknown as Span
      },
      startActiveSpan: () => {
        throw new Error('not used')
      },
    }),
  })
  return ended
}
