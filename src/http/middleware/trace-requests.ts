import {
  context,
  isSpanContextValid,
  ProxyTracerProvider,
  propagation,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'

declare module 'fastify' {
  interface FastifyRequest {
    /** The trace that the request belongs to, if any. */
    traceId: string | undefined
  }
}

/**
 * Makes every request a span that continues the caller's trace, if the operator has loaded an OpenTelemetry SDK into
 * the process: without it, spans would go nowhere. Only the route pattern is recorded, as paths and queries may contain
 * secrets.
 */
export function traceRequests(app: FastifyInstance): void {
  const tracer = trace.getTracer('cartage')
  app.decorateRequest('traceId', undefined)
  let isTraced = false
  app.addHook('onRequest', (request, reply, done) => {
    isTraced ||= isSdkLoaded()
    if (!isTraced) {
      request.traceId = traceIdIn(request)
      return done()
    }
    const incoming = propagation.extract(context.active(), request.headers)
    const route = request.routeOptions.url ?? 'none'
    const span = tracer.startSpan(
      `${request.method} ${route}`,
      {
        kind: SpanKind.SERVER,
        attributes: { 'http.request.method': request.method, 'http.route': route, 'request.id': request.id },
      },
      incoming,
    )
    const spanContext = span.spanContext()
    request.traceId = isSpanContextValid(spanContext) ? spanContext.traceId : traceIdIn(request)
    if (span.isRecording()) reply.raw.once('close', () => endSpan(span, reply))
    context.with(trace.setSpan(incoming, span), done)
  })
}

function isSdkLoaded(): boolean {
  const provider = trace.getTracerProvider()
  return !(provider instanceof ProxyTracerProvider) || provider.getDelegateTracer('cartage') !== undefined
}

function endSpan(span: Span, { raw: { statusCode, writableFinished } }: FastifyReply): void {
  span.setAttribute('http.response.status_code', statusCode)
  if (statusCode >= 500 || !writableFinished) span.setStatus({ code: SpanStatusCode.ERROR })
  span.end()
}

/** Without an SDK the caller's trace id still goes to the log. */
function traceIdIn({ headers: { traceparent } }: FastifyRequest): string | undefined {
  if (traceparent === undefined) return undefined
  return /^00-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}$/.exec(String(traceparent))?.[1]
}
