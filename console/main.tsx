import './styles/tokens.css'
import './styles/base.css'
import './styles/parts.css'
import './styles/frame.css'
import { render } from 'preact'
import { restoreSession } from './api/session.ts'
import { Frame } from './frame/frame.tsx'
import { guardSinks } from './frame/trusted-types.ts'
import { listenForKeys } from './parts/acts.ts'
import { followLinks } from './parts/route.ts'
import { showTheme } from './parts/theme.ts'

guardSinks()
showTheme()
followLinks()
listenForKeys()
await restoreSession()
render(<Frame />, document.getElementById('app')!)
