// Package ibsim is the socket protocol of ibsim, the InfiniBand simulator, as
// values and codecs: what a client and a server of it say to each other. The
// sockets are the caller's.
//
// Client and server exchange datagrams, on abstract unix sockets (Names) or,
// in remote mode, on UDP (Ports). A client sends Control messages to the
// server's control socket, first of all a Connect with the ID of its data
// socket, and gets each back with the answer in it. The answer to Connect is
// the number of the client, which names the server's data socket; on the two
// data sockets travel Packets, each with one management datagram.
//
//	server: BASE:ctl         BASE:out0 .. BASE:outN
//	           |                 |
//	client: BASE:ctlID       BASE:inID
//
// Control messages are in the byte order of the host, which both sides share;
// LIDs, queue pairs and the status of a Packet are not: see Packet.
//
// Register is heddle's own. A server that does not know it sends it back as it
// came, as ibsim does with all that it does not know.
package ibsim
