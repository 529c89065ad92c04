/** Returns the id of an RCS agent without `@rbm.goog`, which the network sometimes appends: this form is stored. */
export const bareAgentId = (id: string): string => id.replace(/@rbm\.goog$/, '');
