// The page: Tiptap with its extensions for co-editing, put together as its documents say. What it is to open is in its
// address; tests speak to it by `window`.
import { Editor } from '@tiptap/core';
import Collaboration from '@tiptap/extension-collaboration';
import CollaborationCaret from '@tiptap/extension-collaboration-caret';
import Mention from '@tiptap/extension-mention';
import StarterKit from '@tiptap/starter-kit';
import { WebsocketProvider } from 'y-websocket';
import * as Y from 'yjs';

const { server, room, token, name } = Object.fromEntries(new URLSearchParams(location.search));
const doc = new Y.Doc();
const provider = new WebsocketProvider(server, room, doc, { params: { token } });
const endings = [];
provider.on('closed', ({ code }) => endings.push(code));
const editor = new Editor({
  element: document.querySelector('main'),
  extensions: [
    StarterKit.configure({ undoRedo: false, heading: { levels: [1, 2, 3] } }),
    Mention,
    Collaboration.configure({ document: doc, field: 'content' }),
    CollaborationCaret.configure({ provider, user: { name, color: '#958df1' } }),
  ],
});
Object.assign(window, { provider, editor, endings });
