const ALPHANUMERIC = /^(?=.*[A-Za-z])[A-Za-z0-9 !"#$%&'()*+,\-./:;<=>?_]{1,11}$/;
const NUMERIC = /^\+?[0-9]{1,16}$/;

/**
 * Returns true if a sender is valid on SMS: 1..11 alphanumeric characters, or up to 16 digits (number or short code).
 */
export const isSmsSender = (sender: string): boolean => NUMERIC.test(sender) || ALPHANUMERIC.test(sender);
