package main

import (
	"errors"
	"fmt"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
)

// echoService sends back what comes: a service without a description in
// protobuf's language.
var echoService = grpc.ServiceDesc{
	ServiceName: "heddle.Echo",
	HandlerType: (*any)(nil),
	Streams: []grpc.StreamDesc{{
		StreamName: "Echo", ClientStreams: true, ServerStreams: true,
		Handler: func(_ any, stream grpc.ServerStream) error {
			for {
				var b []byte
				err := stream.RecvMsg(&b)
				if errors.Is(err, io.EOF) {
					return nil
				}
				if err == nil {
					err = stream.SendMsg(b)
				}
				if err != nil {
					return err
				}
			}
		},
	}},
}

// codec has bytes go as they are, and all else as protobuf.
func codec() encoding.CodecV2 { return bytesOr{encoding.GetCodecV2(proto.Name)} }

type bytesOr struct{ encoding.CodecV2 }

// Marshal implements encoding.CodecV2.
func (c bytesOr) Marshal(v any) (mem.BufferSlice, error) {
	if b, ok := v.([]byte); ok {
		return mem.BufferSlice{mem.SliceBuffer(b)}, nil
	}
	return c.CodecV2.Marshal(v)
}

// Unmarshal implements encoding.CodecV2.
func (c bytesOr) Unmarshal(data mem.BufferSlice, v any) error {
	if b, ok := v.(*[]byte); ok {
		*b = data.Materialize()
		return nil
	}
	if err := c.CodecV2.Unmarshal(data, v); err != nil {
		return fmt.Errorf("%T: %w", v, err)
	}
	return nil
}
