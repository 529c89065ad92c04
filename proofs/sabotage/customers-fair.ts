// The same fault as that of `fair`: one queue for all messages.
import './fair.ts';
