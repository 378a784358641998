package umad

// severalSender is a Device that sends several datagrams for less than one by
// one. Where SendAll fails, some may have been sent.
type severalSender interface {
	SendAll(list ...*Message) error
}

// BatchLimit is how many datagrams a Batch collects: with the last of them it
// flushes itself.
const BatchLimit = 32

// Batch collects what a goroutine sends, so that the device has less to do for
// it. Whoever has nothing more to send for now must call Flush: until then
// nothing may have been sent. It is for one goroutine at a time.
type Batch struct {
	port    *Port
	device  severalSender // nil where datagrams are sent at once
	list    []*Message
	started []*transaction // whose requests are in list
}

// Batch makes an empty Batch.
func (p *Port) Batch() *Batch {
	device, _ := p.dev.(severalSender)
	return &Batch{port: p, device: device}
}

// Start is Port.Start that may leave the sending to Flush. Where the device
// refuses then, done gets the error.
func (b *Batch) Start(req *Message, o CallOptions, done func(*Message, error)) error {
	t, err := b.port.admit(req, o, done)
	if err != nil {
		return err
	}
	if !b.collects(&t.msg) {
		return b.port.launch(t)
	}
	b.started = append(b.started, t)
	b.add(&t.msg) //nolint:errcheck // done gets it
	return nil
}

// Send is Port.Send that may leave the sending to Flush, until when the message
// must stay as it is. An error of the device may come with a later message, or
// with Flush.
func (b *Batch) Send(m *Message) error {
	if err := b.port.sendable(m); err != nil {
		return err
	}
	if !b.collects(m) {
		return b.port.deliver(m)
	}
	return b.add(m)
}

// Answers is a Batch for what handlers send, and for nobody else. The port
// flushes it as soon as no more requests wait for handlers.
func (p *Port) Answers() *Batch { return p.answers }

// queued is a Device that can tell whether Receive would return at once.
type queued interface {
	Waiting() bool
}

// flushAnswers is called before each wait for a datagram.
func (p *Port) flushAnswers() {
	if len(p.answers.list) == 0 {
		return
	}
	if d, ok := p.dev.(queued); ok && d.Waiting() {
		return
	}
	if err := p.answers.Flush(); err != nil {
		p.counters.sendErrors.Add(1)
	}
}

// collects tells whether a message waits for Flush: none does that goes by RMPP
// in several datagrams.
func (b *Batch) collects(m *Message) bool {
	return b.device != nil && !b.port.segments(m)
}

func (b *Batch) add(m *Message) error {
	b.list = append(b.list, m)
	if len(b.list) < BatchLimit {
		return nil
	}
	return b.Flush()
}

// Flush sends what was collected.
func (b *Batch) Flush() error {
	if len(b.list) == 0 {
		return nil
	}
	err := b.device.SendAll(b.list...)
	for _, t := range b.started {
		if done, err := b.port.sent(t, err); err != nil {
			b.port.call(done, nil, err)
		}
	}
	clear(b.list)
	clear(b.started)
	b.list, b.started = b.list[:0], b.started[:0]
	return err
}
