// Package umad is a port that sends and receives management datagrams.
//
// A Device moves single datagrams: the kernel's /dev/infiniband/umadN, a client
// of ibsim or of heddle's own emulator, or a port of an emulated subnet in the
// same process. A Port is what programs use: it gives transaction IDs, matches
// answers to requests, resends, gives up in time, carries long messages by
// RMPP, and hands what nobody asked for to the handler of its class.
//
//	dev, err := umad.Open("ibsim:sim/H-0000000000100000")
//	...
//	port := umad.NewPort(dev)
//	defer port.Close()
//	answer, err := port.Call(ctx, &umad.Message{Address: umad.ToLID(3), Data: request[:]}, umad.CallOptions{})
//
// Call waits; Start is for who has thousands of requests outstanding. An agent
// takes requests with Handle and answers them with Message.Reply and Send:
//
//	agent := umad.Agent{Class: mad.ClassPerf, Version: 1, Methods: []mad.Method{mad.MethodGet}}
//	err := port.Handle(agent, func(m *umad.Message) { ... })
//
// Management datagrams are not reliable, so that a request may be handled twice
// and an answer may come too late to be taken for one. A port's Stats count
// what it ignored: the first thing to look at where something does not come.
package umad
