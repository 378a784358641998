//go:build linux && (amd64 || arm64)

package ibv

import (
	"unsafe"

	"heddle/ib"
	"heddle/verbs"
)

// The structures of libibverbs as far as they are used here, in the order of
// the C library's for a system of 64 bits. The tags are C's names, by which the
// tests hold every offset against the headers'. A structure that only the
// library allocates ends after the last field of use.

type ibvDevice struct {
	_         [2]uintptr
	NodeType  int32     `c:"node_type"`
	Transport int32     `c:"transport_type"`
	Name      [64]byte  `c:"name"`
	DevName   [64]byte  `c:"dev_name"`
	DevPath   [256]byte `c:"dev_path"`
	IBDevPath [256]byte `c:"ibdev_path"`
}

type ibvOps struct {
	_           [7]uintptr
	AllocMW     uintptr `c:"alloc_mw"`
	BindMW      uintptr `c:"bind_mw"`
	DeallocMW   uintptr `c:"dealloc_mw"`
	_           uintptr
	PollCQ      uintptr `c:"poll_cq"`
	ReqNotifyCQ uintptr `c:"req_notify_cq"`
	_           [7]uintptr
	PostSRQRecv uintptr `c:"post_srq_recv"`
	_           [4]uintptr
	PostSend    uintptr `c:"post_send"`
	PostRecv    uintptr `c:"post_recv"`
	_           [5]uintptr
}

type ibvContext struct {
	Device      *ibvDevice `c:"device"`
	Ops         ibvOps     `c:"ops"`
	CmdFD       int32      `c:"cmd_fd"`
	AsyncFD     int32      `c:"async_fd"`
	CompVectors int32      `c:"num_comp_vectors"`
	_           [mutexSize / 8]uint64
	ABI         uintptr `c:"abi_compat"`
}

type ibvDeviceAttr struct {
	Firmware     [64]byte `c:"fw_ver"`
	NodeGUID     [8]byte  `c:"node_guid"`
	_            uint64
	MaxMRSize    uint64 `c:"max_mr_size"`
	_            uint64
	VendorID     uint32 `c:"vendor_id"`
	PartID       uint32 `c:"vendor_part_id"`
	_            uint32
	MaxQP        int32  `c:"max_qp"`
	MaxQPWR      int32  `c:"max_qp_wr"`
	CapFlags     uint32 `c:"device_cap_flags"`
	MaxSGE       int32  `c:"max_sge"`
	_            int32
	MaxCQ        int32 `c:"max_cq"`
	MaxCQE       int32 `c:"max_cqe"`
	MaxMR        int32 `c:"max_mr"`
	MaxPD        int32 `c:"max_pd"`
	MaxReads     int32 `c:"max_qp_rd_atom"`
	_            [2]int32
	MaxReadsInit int32 `c:"max_qp_init_rd_atom"`
	_            int32
	AtomicCap    int32 `c:"atomic_cap"`
	_            [2]int32
	MaxMW        int32 `c:"max_mw"`
	_            [2]int32
	MaxGroups    int32 `c:"max_mcast_grp"`
	_            [2]int32
	MaxAH        int32 `c:"max_ah"`
	_            [2]int32
	MaxSRQ       int32 `c:"max_srq"`
	MaxSRQWR     int32 `c:"max_srq_wr"`
	MaxSRQSGE    int32 `c:"max_srq_sge"`
	_            [3]byte
	Ports        uint8 `c:"phys_port_cnt"`
}

// ibvDeviceAttrEx is as in rdma-core 44; later ones fill in no more than that.
type ibvDeviceAttrEx struct {
	ibvDeviceAttr
	_     [144]byte
	MaxDM uint64 `c:"max_dm_size"`
	_     [16]byte
}

// ibvPortAttr is what the exported ibv_query_port fills in. Later headers have
// more fields, which that function leaves alone; there is room for them.
type ibvPortAttr struct {
	State     uint32 `c:"state"`
	MaxMTU    uint32 `c:"max_mtu"`
	ActiveMTU uint32 `c:"active_mtu"`
	GIDs      int32  `c:"gid_tbl_len"`
	_         uint32
	MaxMsg    uint32 `c:"max_msg_sz"`
	_         [2]uint32
	PKeys     uint16 `c:"pkey_tbl_len"`
	LID       uint16 `c:"lid"`
	SMLID     uint16 `c:"sm_lid"`
	LMC       uint8  `c:"lmc"`
	_         [4]uint8
	Width     uint8 `c:"active_width"`
	Speed     uint8 `c:"active_speed"`
	_         uint8
	LinkLayer uint8 `c:"link_layer"`
	_         [209]byte
}

type ibvGIDEntry struct {
	GID     ib.GID `c:"gid"`
	Index   uint32 `c:"gid_index"`
	Port    uint32 `c:"port_num"`
	Type    uint32 `c:"gid_type"`
	IfIndex uint32 `c:"ndev_ifindex"`
}

type ibvPD struct {
	Context *ibvContext `c:"context"`
}

type ibvMR struct {
	Context *ibvContext `c:"context"`
	PD      *ibvPD      `c:"pd"`
	Addr    uintptr     `c:"addr"`
	Length  uintptr     `c:"length"`
	_       uint32
	LKey    uint32 `c:"lkey"`
	RKey    uint32 `c:"rkey"`
}

type ibvMW struct {
	Context *ibvContext `c:"context"`
	PD      *ibvPD      `c:"pd"`
	RKey    uint32      `c:"rkey"`
	_       uint32
	Type    uint32 `c:"type"`
}

type ibvMWBind struct {
	ID    uint64      `c:"wr_id"`
	Flags uint32      `c:"send_flags"`
	Info  ibvBindInfo `c:"bind_info"`
}

type ibvDM struct {
	Context  *ibvContext `c:"context"`
	CopyTo   uintptr     `c:"memcpy_to_dm"`
	CopyFrom uintptr     `c:"memcpy_from_dm"`
}

type ibvAllocDMAttr struct {
	Length uintptr `c:"length"`
	Align  uint32  `c:"log_align_req"`
	Mask   uint32  `c:"comp_mask"`
}

type ibvChannel struct {
	Context *ibvContext `c:"context"`
	FD      int32       `c:"fd"`
}

type ibvCQ struct {
	Context *ibvContext `c:"context"`
	Channel *ibvChannel `c:"channel"`
	_       uintptr
	_       uint32
	Depth   int32 `c:"cqe"`
}

type ibvSRQ struct {
	Context *ibvContext `c:"context"`
	_       uintptr
	PD      *ibvPD `c:"pd"`
}

type ibvQP struct {
	Context *ibvContext `c:"context"`
	_       uintptr
	PD      *ibvPD  `c:"pd"`
	SendCQ  *ibvCQ  `c:"send_cq"`
	RecvCQ  *ibvCQ  `c:"recv_cq"`
	SRQ     *ibvSRQ `c:"srq"`
	_       uint32
	Num     uint32 `c:"qp_num"`
	_       uint32
	Type    uint32 `c:"qp_type"`
}

type ibvQPCap struct {
	SendWR  uint32 `c:"max_send_wr"`
	RecvWR  uint32 `c:"max_recv_wr"`
	SendSGE uint32 `c:"max_send_sge"`
	RecvSGE uint32 `c:"max_recv_sge"`
	Inline  uint32 `c:"max_inline_data"`
}

type ibvQPInitAttr struct {
	Context uintptr  `c:"qp_context"`
	SendCQ  *ibvCQ   `c:"send_cq"`
	RecvCQ  *ibvCQ   `c:"recv_cq"`
	SRQ     *ibvSRQ  `c:"srq"`
	Cap     ibvQPCap `c:"cap"`
	Type    uint32   `c:"qp_type"`
	SigAll  int32    `c:"sq_sig_all"`
}

// ibvQPInitAttrEx begins as ibvQPInitAttr does.
type ibvQPInitAttrEx struct {
	Context uintptr
	SendCQ  *ibvCQ
	RecvCQ  *ibvCQ
	SRQ     *ibvSRQ
	Cap     ibvQPCap
	Type    uint32
	SigAll  int32
	Mask    uint32 `c:"comp_mask"`
	PD      *ibvPD `c:"pd"`
	_       uintptr
	Flags   uint32 `c:"create_flags"`
	_       [52]byte
}

type ibvGRH struct {
	GID       ib.GID `c:"dgid"`
	FlowLabel uint32 `c:"flow_label"`
	GIDIndex  uint8  `c:"sgid_index"`
	HopLimit  uint8  `c:"hop_limit"`
	Class     uint8  `c:"traffic_class"`
}

type ibvAHAttr struct {
	GRH      ibvGRH `c:"grh"`
	DLID     uint16 `c:"dlid"`
	SL       uint8  `c:"sl"`
	PathBits uint8  `c:"src_path_bits"`
	Rate     uint8  `c:"static_rate"`
	Global   uint8  `c:"is_global"`
	Port     uint8  `c:"port_num"`
}

type ibvQPAttr struct {
	State     uint32 `c:"qp_state"`
	_         uint32
	MTU       uint32 `c:"path_mtu"`
	_         uint32
	QKey      uint32 `c:"qkey"`
	RecvPSN   uint32 `c:"rq_psn"`
	SendPSN   uint32 `c:"sq_psn"`
	DestQPN   uint32 `c:"dest_qp_num"`
	Access    uint32 `c:"qp_access_flags"`
	_         ibvQPCap
	AH        ibvAHAttr `c:"ah_attr"`
	_         ibvAHAttr
	PKey      uint16 `c:"pkey_index"`
	_         uint16
	_         [2]uint8
	Reads     uint8 `c:"max_rd_atomic"`
	DestReads uint8 `c:"max_dest_rd_atomic"`
	RNRTimer  uint8 `c:"min_rnr_timer"`
	Port      uint8 `c:"port_num"`
	Timeout   uint8 `c:"timeout"`
	Retries   uint8 `c:"retry_cnt"`
	RNRRetry  uint8 `c:"rnr_retry"`
	_         [2]uint8
	_         [2]uint32
}

type ibvSRQAttr struct {
	WR    uint32 `c:"max_wr"`
	SGE   uint32 `c:"max_sge"`
	Limit uint32 `c:"srq_limit"`
}

type ibvSRQInitAttr struct {
	Context uintptr    `c:"srq_context"`
	Attr    ibvSRQAttr `c:"attr"`
}

// ibvSendWR has C's unions as words: Words[0] is the remote address or the
// address of the AH; what comes after it is in fill.
type ibvSendWR struct {
	ID     uint64    `c:"wr_id"`
	Next   uintptr   `c:"next"`
	SGEs   uintptr   `c:"sg_list"`
	NumSGE int32     `c:"num_sge"`
	Op     uint32    `c:"opcode"`
	Flags  uint32    `c:"send_flags"`
	Imm    uint32    `c:"imm_data"` // of the wire's byte order; or the key to be taken back
	Words  [4]uint64 `c:"wr"`
	_      uint64
	Bind   ibvBind `c:"bind_mw"`
}

type ibvBind struct {
	MW   *ibvMW `c:"mw"`
	RKey uint32 `c:"rkey"`
	_    uint32
	Info ibvBindInfo `c:"bind_info"`
}

type ibvBindInfo struct {
	MR     *ibvMR `c:"mr"`
	Addr   uint64 `c:"addr"`
	Length uint64 `c:"length"`
	Access uint32 `c:"mw_access_flags"`
}

type ibvRecvWR struct {
	ID     uint64  `c:"wr_id"`
	Next   uintptr `c:"next"`
	SGEs   uintptr `c:"sg_list"`
	NumSGE int32   `c:"num_sge"`
	_      int32
}

type ibvWC struct {
	ID      uint64 `c:"wr_id"`
	Status  uint32 `c:"status"`
	Op      uint32 `c:"opcode"`
	Vendor  uint32 `c:"vendor_err"`
	ByteLen uint32 `c:"byte_len"`
	Imm     uint32 `c:"imm_data"`
	QPN     uint32 `c:"qp_num"`
	SrcQPN  uint32 `c:"src_qp"`
	Flags   uint32 `c:"wc_flags"`
	_       uint64
}

type ibvEvent struct {
	Element uintptr `c:"element"` // the object, or the number of the port
	Type    uint32  `c:"event_type"`
	_       uint32
}

// The constants, by C's names.
const (
	transportIB    = 0
	transportIWARP = 1

	atomicHCA  = 1
	atomicGlob = 2

	capWindow1  = 1 << 17
	capWindow2A = 1 << 23
	capWindow2B = 1 << 24

	linkInfiniBand = 1
	linkEthernet   = 2

	qpStateFlag     = 1 << 0
	qpAccess        = 1 << 3
	qpPKey          = 1 << 4
	qpPort          = 1 << 5
	qpQKey          = 1 << 6
	qpAV            = 1 << 7
	qpPathMTU       = 1 << 8
	qpTimeout       = 1 << 9
	qpRetries       = 1 << 10
	qpRNRRetries    = 1 << 11
	qpRecvPSN       = 1 << 12
	qpReads         = 1 << 13
	qpRNRTimer      = 1 << 15
	qpSendPSN       = 1 << 16
	qpDestReads     = 1 << 17
	qpDestQPN       = 1 << 20
	qpWithPD        = 1 << 0
	qpWithFlags     = 1 << 2
	qpBlockLoopback = 1 << 1
	srqLimit        = 2
	wrRDMAWrite     = 0
	wrRDMAWriteImm  = 1
	wrSend          = 2
	wrSendImm       = 3
	wrRDMARead      = 4
	wrCompareSwap   = 5
	wrFetchAdd      = 6
	wrLocalInv      = 7
	wrBindMW        = 8
	sendFence       = 1 << 0
	sendSignaled    = 1 << 1
	sendSolicited   = 1 << 2
	sendInline      = 1 << 3
	wcRecv          = 128
	wcRecvWriteImm  = 129
	wcGRH           = 1 << 0
	wcWithImm       = 1 << 1
	accessLocal     = 1 << 0
	accessWrite     = 1 << 1
	accessRead      = 1 << 2
	accessAtomic    = 1 << 3
	accessBind      = 1 << 4
	accessZeroBased = 1 << 5
	accessRelaxed   = 1 << 20
	qpTypeRC        = 2 // UC and UD follow
	eventDeviceFail = 8
)

// cString is the text before the zero byte; ok is false where there is none.
func cString(b []byte) (s string, ok bool) {
	for i, c := range b {
		if c == 0 {
			return string(b[:i]), true
		}
	}
	return "", false
}

// accessFlags are libibverbs' for the rights of an MR, a QP or a window.
func accessFlags(a verbs.Access) (flags uint32) {
	for _, pair := range []struct {
		right verbs.Access
		flag  uint32
	}{
		{verbs.LocalWrite, accessLocal},
		{verbs.RemoteWrite, accessWrite},
		{verbs.RemoteRead, accessRead},
		{verbs.RemoteAtomic, accessAtomic},
		{verbs.WindowBind, accessBind},
		{verbs.RelaxedOrder, accessRelaxed},
	} {
		if a&pair.right != 0 {
			flags |= pair.flag
		}
	}
	return flags
}

// An SGE of package verbs is one of libibverbs.
const _ = uint(unsafe.Sizeof(verbs.SGE{})-16) + uint(16-unsafe.Sizeof(verbs.SGE{}))
