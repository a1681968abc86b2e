/** Nothing from another origin, no markup or code from text: see SECURITY.md. */
export const consolePolicy = headersOf([...rules([]), "frame-ancestors 'none'", ...noMarkup()])

/** That of a page which other sites may show in a frame, with pictures of these origins. */
export const framedPolicy = (origins: readonly string[]) => headersOf([...rules(origins), ...noMarkup()])

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
