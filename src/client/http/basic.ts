/** The authorization of a key. A name may have letters beyond Latin-1. */
export const basicOf = (username: string, token: string) =>
  `Basic ${btoa(String.fromCharCode(...new TextEncoder().encode(`${username}:${token}`)))}`
