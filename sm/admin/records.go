package admin

import "heddle/mad"

func (r *request) nodeRecords() {
	for e := range r.ends() {
		n := r.snapshot.node(e)
		info := n.Info
		info.PortGUID = e.guid
		if !n.IsSwitch() {
			info.LocalPortNum = e.port
		}
		if !put(r, mad.NodeRecord{LID: e.lid, Info: info, Description: n.Description}) {
			return
		}
	}
}

func (r *request) portInfoRecords() {
	for e, number := range r.ports() {
		info := r.snapshot.node(e).Ports[number].Info
		if !r.trusted {
			info.MKey = 0
		}
		if !put(r, mad.PortInfoRecord{LID: e.lid, PortNum: number, Info: info}) {
			return
		}
	}
}

// linkRecords puts each link twice, from each of its ends.
func (r *request) linkRecords() {
	for e := range r.ends() {
		for number := range r.portsOf(e) {
			h := r.snapshot.steps[e.node].hops[number]
			if h.node < 0 {
				continue
			}
			peer := r.addressOf(h)
			if peer == nil || !r.sees(peer) {
				continue
			}
			if !put(r, mad.LinkRecord{FromLID: e.lid, FromPort: number, ToPort: h.port, ToLID: peer.lid}) {
				return
			}
		}
	}
}

// addressOf is the address of the port that a hop leads to; nil where it has
// none.
func (r *request) addressOf(h hop) *end {
	n := &r.snapshot.subnet.Nodes[h.node]
	number := h.port
	if n.IsSwitch() {
		number = 0
	}
	if int(number) >= len(n.Ports) {
		return nil
	}
	return r.snapshot.at(n.Ports[number].Info.LID)
}

func (r *request) smInfoRecords() {
	for _, record := range r.snapshot.subnet.Managers {
		if e := r.snapshot.at(record.LID); e == nil || !r.sees(e) {
			continue
		}
		if !r.trusted {
			record.Info.SMKey = 0
		}
		if !put(r, record) {
			return
		}
	}
}

func (r *request) switchInfoRecords() {
	for e, n := range r.switches() {
		if n.Switch != nil && !put(r, mad.SwitchInfoRecord{LID: e.lid, Info: *n.Switch}) {
			return
		}
	}
}
