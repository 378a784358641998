// Package discover finds the nodes and links of a subnet by asking them, as
// ibnetdiscover does: from the own node outward, along directed routes, without
// need of a subnet manager or LIDs.
//
// A walk is the plain part: it says what to ask next, takes the answers, and
// builds the fabric; it has no clock and no socket. Run asks for it through a
// umad.Port, many things at once, few of one node that is known, as agents have
// few buffers. What does not answer is a fault that names the path to it; the
// rest of the fabric is found all the same.
package discover
