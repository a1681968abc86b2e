import './styles/tokens.css'
import './styles/base.css'
import './styles/parts.css'
import './styles/frame.css'
import { options, render } from 'preact'
import { restoreSession } from './api/session.ts'
import { Frame } from './frame/frame.tsx'
import { followLinks } from './parts/browser/route.ts'
import { showTheme } from './parts/browser/theme.ts'
import { guardSinks } from './parts/browser/trusted-types.ts'
import { listenForKeys } from './parts/commands.ts'

// Effects run before the next key or click, not after the next frame: what is visible already works.
options.requestAnimationFrame = queueMicrotask
guardSinks()
showTheme()
followLinks()
listenForKeys()
await restoreSession()
render(<Frame />, document.getElementById('app')!)
