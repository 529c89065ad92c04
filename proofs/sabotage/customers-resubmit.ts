// The same fault as that of `crash --policy resubmit`: the second copy is sent as if it were the first.
import './resubmit.ts';
