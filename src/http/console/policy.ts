import type { Config } from '../../config/config.ts'

/** No markup or code from text, and nothing from origins other than these: see SECURITY.md. */
export const consolePolicy = (origins: readonly string[]) =>
  headersOf([...rules(origins), "frame-ancestors 'none'", ...noMarkup()])

/** The policy of a page that other sites may frame, with pictures of these origins. */
export const framedPolicy = (origins: readonly string[]) => headersOf([...rules(origins), ...noMarkup()])

/** From which the operator's style of maps is loaded, with all it needs. */
export function originsOfStyle({ mapStyle, mapStyleOrigins }: StyleConfig): readonly string[] {
  if (!mapStyle) return []
  const named = [mapStyle.light, mapStyle.dark].map((address) => new URL(address).origin)
  return [...new Set([...named, ...mapStyleOrigins])]
}

type StyleConfig = Pick<Config, 'mapStyle' | 'mapStyleOrigins'>

function rules(origins: readonly string[]): readonly string[] {
  const also = origins.map((origin) => ` ${origin}`).join('')
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    `img-src 'self' data: blob:${also}`,
    `connect-src 'self'${also}`,
    "worker-src 'self'",
    "frame-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
  ]
}

function noMarkup(): readonly string[] {
  return ["require-trusted-types-for 'script'", 'trusted-types default']
}

function headersOf(policy: readonly string[]) {
  return {
    'Content-Security-Policy': policy.join('; '),
    'Referrer-Policy': 'no-referrer',
    'Cross-Origin-Opener-Policy': 'same-origin',
    'Permissions-Policy': [
      ...['accelerometer', 'camera', 'display-capture', 'geolocation', 'gyroscope', 'magnetometer'],
      ...[
        'microphone',
        'midi',
        'payment',
        'publickey-credentials-get',
        'serial',
        'usb',
        'xr-spatial-tracking',
      ],
    ]
      .map((feature) => `${feature}=()`)
      .join(', '),
  }
}
