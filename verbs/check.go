package verbs

// Check looks at a request to a QP before it is posted: what can be told without
// looking at memory. Providers call it; attr is the QP's, filled.
func (wr *SendWR) Check(attr *QPAttr, caps *Caps) error {
	inline := wr.Flags&Inline != 0
	switch {
	case !caps.Can(attr.Type, wr.Op):
		return wr.refuse(ErrNotSupported, 0, 0)
	case len(wr.SGEs) > attr.SendSGE:
		return wr.refuse(ErrTooManySGEs, len(wr.SGEs), attr.SendSGE)
	case inline && len(wr.InlineData) > attr.Inline:
		return wr.refuse(ErrInlineLength, len(wr.InlineData), attr.Inline)
	case inline && (!wr.Op.sends() || len(wr.SGEs) > 0):
		return wr.refuse(ErrInvalid, 0, 0)
	case attr.Type == UD && wr.AH == nil:
		return wr.refuse(ErrInvalid, 0, 0)
	case wr.Op == OpBind && !wr.binds():
		return wr.refuse(ErrInvalid, 0, 0)
	}
	return nil
}

// binds tells whether an OpBind is whole. Only remote rights are a window's.
func (wr *SendWR) binds() bool {
	const remote = RemoteRead | RemoteWrite | RemoteAtomic
	return wr.MW != nil && wr.BindMR != nil && len(wr.SGEs) == 1 && wr.BindAccess&^remote == 0
}

// Check does so for a buffer, which may have that many SGEs.
func (wr *RecvWR) Check(sges int) error {
	if len(wr.SGEs) > sges {
		return &OpError{Verb: "post receive", ID: wr.ID, Got: len(wr.SGEs), Limit: sges, Err: ErrTooManySGEs}
	}
	return nil
}

func (wr *SendWR) refuse(err error, got, limit int) error {
	return &OpError{Verb: "post", Op: wr.Op, ID: wr.ID, Got: got, Limit: limit, Err: err}
}

// sends tells whether an operation takes data along.
func (o Op) sends() bool { return o >= OpSend && o <= OpWriteImm }

// Atomic tells whether an operation is an atomic one.
func (o Op) Atomic() bool { return o == OpFetchAdd || o == OpCompareSwap }

// Reads tells whether an operation brings something back from the peer.
func (o Op) Reads() bool { return o == OpRead || o.Atomic() }

// Receives tells whether an operation takes a buffer of the receiver.
func (o Op) Receives() bool { return o == OpSend || o == OpSendImm || o == OpWriteImm }

// HasImm tells whether an operation carries an immediate.
func (o Op) HasImm() bool { return o == OpSendImm || o == OpWriteImm }

// Length is the number of bytes that a request sends or asks for.
func (wr *SendWR) Length() (n int) {
	if wr.Flags&Inline != 0 {
		return len(wr.InlineData)
	}
	for i := range wr.SGEs {
		n += int(wr.SGEs[i].Length)
	}
	return n
}
