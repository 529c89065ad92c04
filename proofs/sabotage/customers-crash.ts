// The same fault as that of `accept`: customers by SMPP are answered before the commit, too.
import './accept.ts';
